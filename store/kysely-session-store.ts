import type { RecordInput, TryRef } from '../protocol/calls.js';
import type { DeliverInput } from '../protocol/channels.js';
import type { Evidence } from '../protocol/liveness.js';
import type { NewOutput } from '../protocol/outputs.js';
import { closeGate, findGate, openGate } from './account-gates.js';
import { getBlob, putBlob } from './blobs.js';
import { findItem } from './claims.js';
import { findClosed } from './closed-calls.js';
import {
  acceptDelivery,
  claimDeliveries,
  dropDelivery,
  endDelivery,
  findDelivery,
  listDeliveries,
  retryDelivery,
} from './deliveries.js';
import { dropLease, findLease, listLeases, renewLease, takeLease, takeOverLease } from './leases.js';
import { countLoss, countSuspects } from './losses.js';
import { newestMigration } from './migrations/migrate.js';
import { openTasks } from './open-tasks.js';
import { findOutcome } from './outcomes.js';
import { readOutputs } from './outputs.js';
import { record } from './record.js';
import type {
  BeginTool,
  BeginTry,
  ClaimDeliveries,
  ClosingGate,
  DeliveryQuery,
  EndDelivery,
  FinishTool,
  FinishTry,
  LiveCall,
  NewLease,
  OpenTask,
  OutputQuery,
  Renewal,
  SessionStore,
  TakeOver,
  TryEnd,
} from './session-store.js';
import { findSession, lastSeqs, listSessions } from './sessions.js';
import { beginTool, finishTool } from './tools.js';
import { findEntry, transcript } from './transcript.js';
import type { Transactor } from './transactor.js';
import { appendTryOutputs, beginTry, endTry, finishTry } from './tries.js';

/** The port, one line a method: which transaction runs which piece of the query layer. */
export class KyselySessionStore implements SessionStore {
  readonly #data: Transactor;

  constructor(data: Transactor) {
    this.#data = data;
  }

  beginTry(begin: BeginTry) {
    return this.#data.write((tx) => beginTry(tx, begin, Date.now()));
  }

  async appendTryOutputs(tryRef: TryRef, outputs: NewOutput[], evidence?: Evidence) {
    if (outputs.length === 0 && !evidence) return;
    await this.#data.write((tx) => appendTryOutputs(tx, { tryRef, outputs, evidence }, Date.now()));
  }

  finishTry(finish: FinishTry) {
    return this.#data.write((tx) => finishTry(tx, finish, Date.now()));
  }

  endTry(tryRef: TryRef, how: TryEnd = { isRefused: false }) {
    return this.#data.write((tx) => endTry(tx, { ...tryRef, ...how }, Date.now()));
  }

  transcript(sessionId: string, head: string | null) {
    return this.#data.read((db) => transcript(db, sessionId, head));
  }

  findEntry(sessionId: string, entryId: string) {
    return this.#data.read((db) => findEntry(db, sessionId, entryId));
  }

  beginTool(begin: BeginTool) {
    return this.#data.write((tx) => beginTool(tx, begin, Date.now()));
  }

  finishTool(finish: FinishTool) {
    return this.#data.write((tx) => finishTool(tx, finish, Date.now()));
  }

  openTasks() {
    return this.#data.read((db) => openTasks(db));
  }

  countLoss(task: OpenTask) {
    return this.#data.write((tx) => countLoss(tx, task));
  }

  countSuspects() {
    return this.#data.read((db) => countSuspects(db));
  }

  findClosed<Live extends LiveCall>(calls: readonly Live[]) {
    return this.#data.read((db) => findClosed(db, calls));
  }

  record(input: RecordInput) {
    return this.#data.write((tx) => record(tx, input, Date.now()));
  }

  readOutputs(query: OutputQuery) {
    return this.#data.read((db) => readOutputs(db, query));
  }

  lastSeqs(sessionIds: readonly string[]) {
    return this.#data.read((db) => lastSeqs(db, sessionIds));
  }

  findItem(sessionId: string, itemId: string) {
    return this.#data.read((db) => findItem(db, sessionId, itemId));
  }

  findOutcome(sessionId: string, turnId: string) {
    return this.#data.read((db) => findOutcome(db, sessionId, turnId));
  }

  findSession(sessionId: string) {
    return this.#data.read((db) => findSession(db, sessionId));
  }

  listSessions(query: { tenant?: string; limit: number }) {
    return this.#data.read((db) => listSessions(db, query));
  }

  takeLease(lease: NewLease) {
    return this.#data.write((tx) => takeLease(tx, lease, Date.now()));
  }

  renewLease(renewal: Renewal) {
    return this.#data.write((tx) => renewLease(tx, renewal));
  }

  takeOverLease(takeOver: TakeOver) {
    return this.#data.write((tx) => takeOverLease(tx, takeOver));
  }

  dropLease(leaseId: string) {
    return this.#data.write((tx) => dropLease(tx, leaseId));
  }

  findLease(leaseId: string) {
    return this.#data.read((db) => findLease(db, leaseId));
  }

  leases() {
    return this.#data.read((db) => listLeases(db));
  }

  findGate(account: string) {
    return this.#data.read((db) => findGate(db, account));
  }

  closeGate(closing: ClosingGate) {
    return this.#data.write((tx) => closeGate(tx, closing));
  }

  openGate(opening: { account: string; nowMs: number }) {
    return this.#data.write((tx) => openGate(tx, opening));
  }

  acceptDelivery(delivery: DeliverInput) {
    return this.#data.write((tx) => acceptDelivery(tx, delivery, Date.now()));
  }

  claimDeliveries(claim: ClaimDeliveries) {
    return this.#data.write((tx) => claimDeliveries(tx, claim));
  }

  endDelivery(ending: EndDelivery) {
    return this.#data.write((tx) => endDelivery(tx, ending, Date.now()));
  }

  findDelivery(id: string) {
    return this.#data.read((db) => findDelivery(db, id));
  }

  listDeliveries(query: DeliveryQuery) {
    return this.#data.read((db) => listDeliveries(db, query));
  }

  retryDelivery(id: string) {
    return this.#data.write((tx) => retryDelivery(tx, id, Date.now()));
  }

  dropDelivery(id: string) {
    return this.#data.write((tx) => dropDelivery(tx, id, Date.now()));
  }

  schemaVersion() {
    return this.#data.read((db) => newestMigration(db));
  }

  putBlob(blob: { bytes: Uint8Array; mediaType: string }) {
    return this.#data.write((tx) => putBlob(tx, blob, Date.now()));
  }

  getBlob(ref: string) {
    return this.#data.read((db) => getBlob(db, ref));
  }

  close() {
    return this.#data.close();
  }
}
