import { builtinModules } from 'node:module';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** Every global of the running Node, so that `no-undef` works on the untyped scripts without a list to keep up. */
const nodeGlobals = Object.fromEntries(Object.getOwnPropertyNames(globalThis).map((name) => [name, 'readonly']));

const everywhere = {
  eqeqeq: ['error', 'always', { null: 'ignore' }],
  'no-var': 'error',
  'prefer-const': 'error',
  'no-self-compare': 'error',
  'no-throw-literal': 'error',
  'no-unreachable': 'error',
  'no-unsafe-finally': 'error',
  'no-constant-binary-expression': 'error',
};

/** Why a replayed workflow may not use it is the same for each: the answer differs between the first run and the replay. */
const byArgument = 'Session code is replayed: take the time, ids and randomness as arguments.';
const hiddenInputs = [
  ...['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate', 'queueMicrotask'],
  ...['process', 'console', 'crypto', 'performance', 'fetch', 'globalThis', 'global'],
];

const hiddenDates = [
  { selector: 'NewExpression[callee.name="Date"][arguments.length=0]', message: byArgument },
  { selector: 'CallExpression[callee.name="Date"]', message: byArgument },
];
const scheduler =
  'One scheduler: advance.ts says what the timer is armed for and opens turns, session.ts sleeps for it; say what is due.';
const oneTimer = [
  { selector: 'ObjectExpression > Property[key.name="kind"][value.value="armTimer"]', message: scheduler },
  { selector: 'CallExpression[callee.name=/^(sleep|startTurn)$/]', message: scheduler },
];

export default defineConfig(
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  { ignores: ['dist/', 'coverage/', '.cache/', '.vigil/', 'test/histories/', '**/*.d.mts'] },
  {
    files: ['**/*.{js,mjs,cjs}'],
    languageOptions: { ecmaVersion: 'latest', sourceType: 'module', globals: nodeGlobals },
    rules: { ...everywhere, 'no-undef': 'error', 'no-unused-vars': ['error', { argsIgnorePattern: '^_' }] },
  },
  {
    files: ['**/*.{ts,mts,cts}'],
    plugins: { '@typescript-eslint': tseslint.plugin },
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      ...everywhere,
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-unnecessary-type-assertion': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      // A default branch is a decision; a switch without one must name every member.
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    },
  },
  {
    files: ['workflows/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: builtinModules.map((name) => ({
            name,
            message: 'Node modules do not exist in the workflow sandbox.',
          })),
          patterns: [{ group: ['node:*'], message: 'Node modules do not exist in the workflow sandbox.' }],
        },
      ],
    },
  },
  {
    files: ['workflows/**/*.ts'],
    ignores: ['workflows/session.ts', 'workflows/session/**'],
    rules: { 'no-restricted-syntax': ['error', ...oneTimer] },
  },
  {
    files: ['workflows/session/**/*.ts'],
    rules: {
      'no-restricted-globals': ['error', ...hiddenInputs.map((name) => ({ name, message: byArgument }))],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: byArgument },
        { object: 'Math', property: 'random', message: byArgument },
      ],
      'no-restricted-syntax': ['error', ...hiddenDates, ...oneTimer],
    },
  },
  {
    files: ['workflows/session/advance.ts'],
    rules: { 'no-restricted-syntax': ['error', ...hiddenDates] },
  },
);
