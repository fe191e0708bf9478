#!/usr/bin/env node
/** `npm run docs:config`: writes docs/vigil.schema.json, and the table of settings in docs/configuration.md, from config/config-schema.ts. */
import { readFileSync, writeFileSync } from 'node:fs';
import { createJiti } from 'jiti';
import { format } from 'prettier';

const TABLE = /(<!-- settings -->\n).*(<!-- \/settings -->)/s;
const { schemaText, settingsTable } = await createJiti(import.meta.url).import('../config/config-docs.ts');

await write('docs/vigil.schema.json', schemaText());
const page = readFileSync(pathOf('docs/configuration.md'), 'utf8');
await write(
  'docs/configuration.md',
  page.replace(TABLE, (_, before, after) => `${before}\n${settingsTable()}\n\n${after}`),
);

async function write(path, text) {
  writeFileSync(pathOf(path), await format(text, { filepath: path, singleQuote: true, printWidth: 120 }));
}

function pathOf(path) {
  return new URL(`../${path}`, import.meta.url);
}
