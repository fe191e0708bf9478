import { existsSync, readFileSync } from 'node:fs';

interface Row {
  id: string;
  shownBy: string;
}

const SCENARIOS = 90;

const rows: Row[] = readFileSync('docs/scenarios.md', 'utf8')
  .split('\n')
  .filter((line) => /^\| S/.test(line))
  .map((line) => {
    const cells = line.split('|').map((cell) => cell.trim());
    return { id: cells[1]!, shownBy: cells[4]! };
  });

test('every scenario is listed once, in order, and is one that exists', () => {
  const ids = rows.map(({ id }) => id);
  expect(ids.length).toBeGreaterThan(0);
  expect(ids).toEqual([...new Set(ids)].sort());
  for (const id of ids) {
    expect(id).toMatch(/^S\d\d$/);
    expect(Number(id.slice(1))).toBeGreaterThanOrEqual(1);
    expect(Number(id.slice(1))).toBeLessThanOrEqual(SCENARIOS);
  }
});

/** A test by its file and its title; a row without one says why it needs none. */
const TEST = /^`(?<file>[^`]+)`: (?<title>.+)$/;
const REASON = /^By design: .+/;

test.each(rows)('$id names tests that exist, or a reason', ({ shownBy }) => {
  for (const one of shownBy.split('<br>').map((text) => text.trim())) {
    const { file, title } = TEST.exec(one)?.groups ?? {};
    if (file === undefined || title === undefined) expect(one).toMatch(REASON);
    else expect(existsSync(file) && hasTest(readFileSync(file, 'utf8'), title) ? one : `no test ${one}`).toBe(one);
  }
});

function hasTest(source: string, title: string): boolean {
  return [`'${title}'`, `"${title}"`, `\`${title}\``].some((quoted) => source.includes(quoted));
}
