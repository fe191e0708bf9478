import { ConfigError } from '../../config/config-error.js';
import { loadConfig } from '../../config/load-config.js';

const load = (environment: Record<string, string>) => loadConfig({ environment, cwd: '/' });

test('wakes that name no zone are in the configured one, UTC if none', () => {
  expect(load({}).timeZone).toBe('UTC');
  expect(load({ VIGIL_TIME_ZONE: 'Asia/Kathmandu' }).timeZone).toBe('Asia/Kathmandu');
});

test('a zone that does not exist is refused by name', () => {
  expect(() => load({ VIGIL_TIME_ZONE: 'Mars/Base' })).toThrow(ConfigError);
  expect(() => load({ VIGIL_TIME_ZONE: 'Mars/Base' })).toThrow(/VIGIL_TIME_ZONE/);
});
