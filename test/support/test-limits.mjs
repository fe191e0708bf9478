import { jest } from '@jest/globals';

/** A hang must end the test; a slow machine must not. */
jest.setTimeout(120_000);
