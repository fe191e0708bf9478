#!/usr/bin/env node
/** `npm run docs:config`: writes docs/vigil.schema.json, and the table of settings in docs/configuration.md, from config/config-schema.ts. */
import { readFileSync, writeFileSync } from 'node:fs';
import { createJiti } from 'jiti';

const TABLE = /(<!-- settings -->\n).*(<!-- \/settings -->)/s;
const { schemaText, settingsTable } = await createJiti(import.meta.url).import('../config/config-docs.ts');

const page = readFileSync(pathOf('docs/configuration.md'), 'utf8');
writeFileSync(pathOf('docs/vigil.schema.json'), schemaText());
writeFileSync(
  pathOf('docs/configuration.md'),
  page.replace(TABLE, (_, before, after) => `${before}\n${settingsTable()}\n\n${after}`),
);

function pathOf(path) {
  return new URL(`../${path}`, import.meta.url);
}
