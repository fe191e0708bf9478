/** What the demo model understands of wakes: words that become calls of the wake tools. */

export interface ToolCalls {
  name: string;
  /** One call for each. */
  inputs: object[];
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { second: 1, minute: 60, hour: 3_600, day: 86_400 };
const SPAN = String.raw`(?:(\d{1,6}|an?|one)\s)?\s*(second|minute|hour|day)s?`;

const REMIND_IN = new RegExp(String.raw`^remind me in ${SPAN},?\s(?:to\s|that\s|of\s)?(.+)$`, 'is');
const REMIND_OF = new RegExp(String.raw`^remind me (?:to|that|of)\s(.+)\sin ${SPAN}$`, 'is');
const REMIND_EVERY = new RegExp(String.raw`^remind me every ${SPAN},?\s(?:to\s|that\s|of\s)?(.+)$`, 'is');
const EVERY_DAY_AT = /^every day at (\d{1,2})(?::(\d\d))?,?\s(.+)$/is;
const EVERY = new RegExp(String.raw`^every ${SPAN},?\s(.+)$`, 'is');
const LIST = /^(list|show|what|which)\b.*\b(wakes|reminders)\b/is;
const CANCEL = /^cancel\s+(?:wake\s+)?"?([^\s"]+?)"?[.!]?$/is;

/** The calls that a request asks for, `null` when it is about something else. `wakeId` is the wake whose turn this is. */
export function wakeCalls(text: string, wakeId: string | null): ToolCalls | null {
  const schedule = scheduleIn(text);
  if (schedule) return { name: 'schedule_wake', inputs: [schedule] };
  const named = CANCEL.exec(text)?.[1] ?? null;
  const known = isIt(named) ? wakeId : isAll(named) ? null : named;
  if (known !== null) return cancelCalls([known]);
  return named !== null || LIST.test(text) ? { name: 'list_wakes', inputs: [{}] } : null;
}

/** After the wakes were listed: who wants to cancel "it" means the newest, and "all" all of them. */
export function cancelsOf(text: string, list: string): ToolCalls | null {
  const named = CANCEL.exec(text)?.[1] ?? null;
  if (!isIt(named) && !isAll(named)) return null;
  const ids = [...list.matchAll(/^wake "([^"]+)"/gm)].map((match) => match[1]!);
  return ids.length === 0 ? null : cancelCalls(isAll(named) ? ids : ids.slice(-1));
}

const isIt = (named: string | null): boolean => named !== null && /^(it|that|this)$/i.test(named);
const isAll = (named: string | null): boolean => named !== null && /^(all|everything)$/i.test(named);

const cancelCalls = (ids: string[]): ToolCalls => ({ name: 'cancel_wake', inputs: ids.map((wake) => ({ wake })) });

function scheduleIn(text: string): object | null {
  const [, inCount, inUnit, inWish] = REMIND_IN.exec(text) ?? [];
  if (inWish) return { in_seconds: secondsOf(inCount, inUnit), prompt: remind(inWish) };
  const [, ofWish, ofCount, ofUnit] = REMIND_OF.exec(text) ?? [];
  if (ofWish) return { in_seconds: secondsOf(ofCount, ofUnit), prompt: remind(ofWish) };
  const [, againCount, againUnit, againWish] = REMIND_EVERY.exec(text) ?? [];
  if (againWish) return { every_seconds: secondsOf(againCount, againUnit), prompt: remind(againWish) };
  const [, hour, minute = '0', dailyWish] = EVERY_DAY_AT.exec(text) ?? [];
  if (dailyWish) return { cron: `${Number(minute)} ${Number(hour)} * * *`, prompt: dailyWish };
  const [, count, unit, wish] = EVERY.exec(text) ?? [];
  return wish ? { every_seconds: secondsOf(count, unit), prompt: wish } : null;
}

const remind = (wish: string): string => `remind me to ${wish}`;

function secondsOf(count: string | undefined, unit = 'second'): number {
  const many = Number(count ?? 1);
  return (Number.isNaN(many) ? 1 : many) * UNIT_SECONDS[unit.toLowerCase()]!;
}
