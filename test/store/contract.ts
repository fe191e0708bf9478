import { describeAccountGates } from './contract/account-gates.js';
import { describeBeginning } from './contract/beginning.js';
import { describeBlobs } from './contract/blobs.js';
import { describeChains } from './contract/chains.js';
import { describeClaims } from './contract/claims.js';
import { describeClosing } from './contract/closing.js';
import { describeDeliveries } from './contract/deliveries.js';
import { describeDiscards } from './contract/discards.js';
import { describeEvidence } from './contract/evidence.js';
import { describeFence } from './contract/fence.js';
import { describeFinishing } from './contract/finishing.js';
import { describeJournal } from './contract/journal.js';
import { describeLeases } from './contract/leases.js';
import { describeLosses } from './contract/losses.js';
import { describeProcesses } from './contract/processes.js';
import { describeRecord } from './contract/record.js';
import { describeProjection } from './contract/projection.js';
import { describeRegistry } from './contract/registry.js';
import { describeStopping } from './contract/stopping.js';
import { describeTools } from './contract/tools.js';
import { type CreateStore, StoreFixture } from './contract/store-fixture.js';

/** What every adapter must do, whatever database it stands on. */
export function describeSessionStore(name: string, create: CreateStore): void {
  describe(`the session store on ${name}`, () => {
    const fixture = new StoreFixture(create);
    beforeEach(() => fixture.setUp());
    afterEach(() => fixture.tearDown());

    describe('beginning a try', () => describeBeginning(fixture));
    describe('repeated messages', () => describeClaims(fixture));
    describe('finishing a try', () => describeFinishing(fixture));
    describe('the fence', () => describeFence(fixture));
    describe('text of discarded tries', () => describeDiscards(fixture));
    describe('evidence of tries', () => describeEvidence(fixture));
    describe('a session started anew', () => describeChains(fixture));
    describe('closing a session', () => describeClosing(fixture));
    describe('tools', () => describeTools(fixture));
    describe('stopping', () => describeStopping(fixture));
    describe('the registry of open tasks', () => describeRegistry(fixture));
    describe('lost tasks', () => describeLosses(fixture));
    describe('leases of supervisors', () => describeLeases(fixture));
    describe('gates of accounts', () => describeAccountGates(fixture));
    describe('deliveries', () => describeDeliveries(fixture));
    describe('recording outcomes', () => describeRecord(fixture));
    describe('the projection of sessions', () => describeProjection(fixture));
    describe('the journal', () => describeJournal(fixture));
    describe('blobs', () => describeBlobs(fixture));
    describe('several processes', () => describeProcesses(fixture));
  });
}
