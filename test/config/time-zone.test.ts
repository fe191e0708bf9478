import { ConfigError, loadConfig } from '../../config/load-config.js';

test('wakes that name no zone are in the configured one, UTC if none', () => {
  expect(loadConfig({}, '/').timeZone).toBe('UTC');
  expect(loadConfig({ VIGIL_TIME_ZONE: 'Asia/Kathmandu' }, '/').timeZone).toBe('Asia/Kathmandu');
});

test('a zone that does not exist is refused by name', () => {
  expect(() => loadConfig({ VIGIL_TIME_ZONE: 'Mars/Base' }, '/')).toThrow(ConfigError);
  expect(() => loadConfig({ VIGIL_TIME_ZONE: 'Mars/Base' }, '/')).toThrow(/VIGIL_TIME_ZONE/);
});
