/** Documents in the form of the configuration file, not necessarily whole: plain JSON. */
export type Document = Readonly<Record<string, unknown>>;

/** What stands at a path; `undefined` when nothing does. */
export function valueAt(document: unknown, path: readonly string[]): unknown {
  return path.reduce((at, name) => (isSection(at) && Object.hasOwn(at, name) ? at[name] : undefined), document);
}

/** Both documents in one; where both say something, the stronger counts. Lists are taken whole. */
export function merged(weaker: Document, stronger: Document): Document {
  const both = Object.entries(stronger).map(([name, value]) => {
    const below = valueAt(weaker, [name]);
    return [name, isSection(value) && isSection(below) ? merged(below, value) : value];
  });
  return { ...weaker, ...(Object.fromEntries(both) as Document) };
}

/** Without what is `undefined`, and without sections that are empty then. */
export function withoutGaps(document: Document): Document {
  const kept = Object.entries(document)
    .map(([name, value]) => [name, isSection(value) ? withoutGaps(value) : value] as const)
    .filter(([, value]) => value !== undefined && !(isSection(value) && Object.keys(value).length === 0));
  return Object.fromEntries(kept);
}

/** Every path at which a value stands. */
export function pathsOf(document: Document, start: readonly string[] = []): string[][] {
  return Object.entries(document).flatMap(([name, value]) =>
    isSection(value) ? pathsOf(value, [...start, name]) : [[...start, name]],
  );
}

export function isSection(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
