const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known) return known;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    ...{ year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' },
  });
  formats.set(zone, made);
  return made;
}

export function isZone(zone: string): boolean {
  try {
    formatOf(zone);
    return true;
  } catch {
    return false;
  }
}

/** How far a zone's local time is ahead of UTC at an instant. @throws RangeError for an unknown zone. */
export function offsetMs(instantMs: number, zone: string): number {
  const whole = Math.floor(instantMs / 1000) * 1000;
  const part = new Map(
    formatOf(zone)
      .formatToParts(whole)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const [year, month, day] = [part.get('year')!, part.get('month')!, part.get('day')!];
  return Date.UTC(year, month - 1, day, part.get('hour'), part.get('minute'), part.get('second')) - whole;
}

const DAY_MS = 24 * 3_600_000;

/**
 * The instant of a local time, which is given as if it were UTC: the first one of a time that a clock change repeats, the end of the
 * gap for a time that one leaves out.
 */
export function toInstantMs(localMs: number, zone: string): number {
  const before = offsetMs(localMs - DAY_MS, zone);
  const after = offsetMs(localMs + DAY_MS, zone);
  const candidates = [localMs - before, localMs - after].filter((ms) => ms + offsetMs(ms, zone) === localMs);
  if (candidates.length > 0) return Math.min(...candidates);
  return endOfGapMs(localMs - Math.max(before, after), localMs - Math.min(before, after), zone);
}

/** The first instant with the offset that `highMs` has; `lowMs` lies before the change. */
function endOfGapMs(lowMs: number, highMs: number, zone: string): number {
  const offset = offsetMs(highMs, zone);
  let [low, high] = [lowMs, highMs];
  while (high - low > 1000) {
    const middle = Math.floor((low + high) / 2000) * 1000;
    if (offsetMs(middle, zone) === offset) high = middle;
    else low = middle;
  }
  return high;
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** An instant as a person in the zone reads it, with what tells a repeated hour apart: `Sun 2026-10-25 02:30 +02:00 Europe/Paris`. */
export function formatInstant(instantMs: number, zone: string): string {
  const offset = offsetMs(instantMs, zone);
  const local = new Date(instantMs + offset).toISOString();
  const weekday = WEEKDAYS[new Date(instantMs + offset).getUTCDay()];
  const seconds = local.slice(17, 19) === '00' ? '' : local.slice(16, 19);
  const minutes = Math.round(Math.abs(offset) / 60_000);
  const [hour, minute] = [Math.floor(minutes / 60), minutes % 60].map((value) => String(value).padStart(2, '0'));
  return `${weekday} ${local.slice(0, 10)} ${local.slice(11, 16)}${seconds} ${offset < 0 ? '-' : '+'}${hour}:${minute} ${zone}`;
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?$/;

/** An instant as ISO 8601 writes it; without an offset it is a local time in the zone. The problem goes on after a subject. */
export function parseInstant(text: string, zone: string | undefined): { ms: number } | { problem: string } {
  const match = INSTANT.exec(text.trim());
  const isLocal = match !== null && match[3] === undefined;
  const ms = match ? Date.parse(isLocal ? `${match[0]}Z` : match[0]) : NaN;
  if (Number.isNaN(ms)) return { problem: 'must be an instant like 2026-01-31T09:00:00+01:00' };
  if (!isLocal) return { ms };
  if (zone === undefined)
    return { problem: 'has no offset: give one, like 2026-01-31T09:00:00+01:00, or name the zone' };
  return isZone(zone)
    ? { ms: toInstantMs(ms, zone) }
    : { problem: `is a local time in "${zone}", which is no time zone` };
}
