import { Ajv2020 } from 'ajv/dist/2020.js';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { schemaText, settingsTable } from '../../config/config-docs.js';
import { configFileSchema, knobsOf } from '../../config/config-schema.js';
import { loadConfig } from '../../config/load-config.js';
import { packageRoot } from '../../config/package-root.js';

const read = (path: string) => readFileSync(join(packageRoot(), 'docs', path), 'utf8');
const page = read('configuration.md');
/** The formatter aligns tables. */
const cells = (text: string) => text.replace(/ +/g, ' ').replace(/-{2,}/g, '---');

/** The files that the page shows. */
const examples = [...page.matchAll(/```json\n(.*?)```/gs)].map(([, text]) => JSON.parse(text!) as object);

test('the published schema is that of the code; if not: npm run docs:config', () => {
  expect(JSON.parse(read('vigil.schema.json'))).toEqual(JSON.parse(schemaText()));
});

test('the page lists the settings as the code has them; if not: npm run docs:config', () => {
  expect(cells(page)).toContain(cells(settingsTable()));
});

test('every setting says what it means, and every number what is allowed', () => {
  for (const { path, schema } of knobsOf(configFileSchema())) {
    expect({ path, ...schema }).toMatchObject({ path, description: expect.stringMatching(/\.$/) });
    if (schema.type === 'integer')
      expect(schema).toMatchObject({ minimum: expect.any(Number), maximum: expect.any(Number) });
  }
});

test('an editor takes what the program takes', () => {
  const accepts = new Ajv2020().compile(JSON.parse(read('vigil.schema.json')) as object);
  expect(examples).not.toEqual([]);
  for (const content of examples) {
    expect(accepts(content)).toBe(true);
    expect(() => loadConfig({ environment: {}, cwd: '/', file: { path: '/vigil.json', content } })).not.toThrow();
  }
  expect(accepts({ version: 1, liveness: { defaults: { budgetsMs: { prefill: 0 } } } })).toBe(false);
  expect(accepts({ version: 1, connections: {} })).toBe(false);
  expect(accepts({})).toBe(false);
});
