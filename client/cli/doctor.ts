import { diagnose } from '../diagnosis.js';
import { type ConnectionFlags, readConfig } from './connect.js';

const MARKS = { ok: 'ok     ', warning: 'warning', problem: 'PROBLEM' };

/** Exits with 1 when something keeps sessions from running. */
export async function doctor(flags: ConnectionFlags & { json?: boolean }): Promise<number> {
  const findings = await diagnose(readConfig(flags));
  const isWell = findings.every(({ kind }) => kind !== 'problem');
  if (flags.json) process.stdout.write(`${JSON.stringify({ ok: isWell, findings })}\n`);
  else for (const { about, kind, message } of findings) process.stdout.write(`${MARKS[kind]} ${about}: ${message}\n`);
  return isWell ? 0 : 1;
}
