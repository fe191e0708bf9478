import { SimulatedSession } from '../../support/session-simulation.js';
test('many', () => {
  const bad: string[] = [];
  const kinds: Record<string, number> = {};
  for (let seed = 100; seed < 250; seed++) {
    const s = new SimulatedSession(seed);
    try { for (let i = 0; i < 2500; i++) s.step(); s.drain(); s.requireRest(); } catch (e) { bad.push(`${seed}: ${String(e)}`); }
    for (const t of s.trace) { const k = `${t.event.kind} ${(t.event as any).failure?.type ?? (t.event as any).result?.kind ?? ''}`; kinds[k] = (kinds[k] ?? 0) + 1; }
  }
  throw new Error(bad.join('\n').slice(0, 4000) );
}, 600_000);
