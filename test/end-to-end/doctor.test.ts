/** `vigil doctor` against a real server, with workers and without. */
import { findingsOf, type Finding } from '../../client/diagnosis.js';
import { until } from '../support/until.js';
import { Vigil } from '../support/vigil.js';

const vigil = Vigil.inFileWithoutWorker();

async function doctor(environment: NodeJS.ProcessEnv = {}) {
  const { end: code, stdout } = await vigil.run(['doctor', '--json'], environment);
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
  const of = (about: Finding['about']) => findings.filter((finding) => finding.about === about);
  return { code, ok, of };
}

test('without a worker it says so, and ends with 1', async () => {
  const { code, ok, of } = await doctor();
  expect([code, ok]).toEqual([1, false]);
  expect(of('worker')).toMatchObject([{ kind: 'problem', message: expect.stringContaining('vigil worker') }]);
  expect(of('lease')).toMatchObject([{ kind: 'warning' }]);
});

test('with a supervised worker all is well on a server with our settings', async () => {
  await vigil.startSupervisor();
  const { of } = await until('the worker to be listed', async () => {
    const answer = await doctor();
    return answer.code === 0 && answer;
  });
  expect(of('setting').map((finding) => finding.kind)).toEqual(['ok', 'ok', 'ok']);
  expect(of('store')[0]?.message).toMatch(/schema \d{4}-/);
  expect([of('worker').length, of('lease')[0]?.kind]).toEqual([1, 'ok']);
});

test('without a server it names the address and ends with 1', async () => {
  const { code, of } = await doctor({ VIGIL_ADDRESS: '127.0.0.1:1' });
  expect(code).toBe(1);
  expect(of('server')).toMatchObject([{ kind: 'problem', message: expect.stringContaining('127.0.0.1:1') }]);
});

test('a setting that is off is named with what it costs', () => {
  const findings = findingsOf({ workerPollCompleteOnShutdown: false, workerCommands: true, workerHeartbeats: true });
  expect(findings.map(({ kind }) => kind)).toEqual(['warning', 'ok', 'ok']);
  expect(findings[0]).toMatchObject({
    costSeconds: 2,
    message: expect.stringContaining('enableCancelWorkerPollsOnShutdown'),
  });
});
