/** Two projects: `unit` needs no server; `server` runs against one real Temporal dev server that its global set-up starts. */
const shared = {
  testEnvironment: 'node',
  setupFilesAfterEnv: ['<rootDir>/test/support/test-limits.mjs'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' }, sourceMaps: 'inline' },
    ],
  },
};
export default {
  // Most tests wait most of the time: two at once take half as long on the two cores that CI has.
  maxWorkers: 2,
  projects: [
    {
      ...shared,
      displayName: 'unit',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/end-to-end/'],
    },
    {
      ...shared,
      displayName: 'server',
      testMatch: ['<rootDir>/test/end-to-end/**/*.test.ts'],
      globalSetup: '<rootDir>/test/support/start-server.mjs',
      globalTeardown: '<rootDir>/test/support/stop-server.mjs',
    },
  ],
};
