/**
 * The part of the Compose file format that docker-compose.yml uses, as a JSON schema: a key that is not listed here is a
 * typing error until someone adds it. Written for this test; `docker compose config` knows the whole format.
 */
const text = { type: 'string' } as const;
const textList = { type: 'array', items: text, minItems: 1 } as const;
const duration = { type: 'string', pattern: '^([0-9]+(h|m|s|ms))+$' } as const;
const command = { oneOf: [text, textList] } as const;

const object = <P extends object>(properties: P, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const mapOf = (values: object) => ({
  type: 'object',
  patternProperties: { '^[a-zA-Z0-9._-]+$': values },
  additionalProperties: false,
});

const service = {
  ...object({
    image: { type: 'string', pattern: '^[a-z0-9./-]+(:[A-Za-z0-9._-]+)?$' },
    build: object({ context: text, dockerfile: text }, ['context']),
    restart: { type: 'string', pattern: '^(no|always|unless-stopped|on-failure(:[0-9]+)?)$' },
    command,
    entrypoint: command,
    // Values that YAML would read as numbers or truth must be quoted; no value means "from the environment".
    environment: mapOf({ type: ['string', 'null'] }),
    depends_on: mapOf(
      object({ condition: { enum: ['service_started', 'service_healthy', 'service_completed_successfully'] } }, [
        'condition',
      ]),
    ),
    ports: { ...textList, items: { type: 'string', pattern: '^127\\.0\\.0\\.1:(\\$\\{[A-Z_]+:-)?[0-9]+\\}?:[0-9]+$' } },
    volumes: { ...textList, items: { type: 'string', pattern: '^[a-z./-]+:/[a-z./-]+(:ro)?$' } },
    healthcheck: object(
      {
        test: { type: 'array', items: text, minItems: 2 },
        interval: duration,
        timeout: duration,
        start_period: duration,
        retries: { type: 'integer', minimum: 1 },
      },
      ['test', 'interval', 'timeout', 'retries'],
    ),
    stop_grace_period: duration,
  }),
  anyOf: [{ required: ['image'] }, { required: ['build'] }],
};

export const composeStructure = {
  ...object({ name: text, services: mapOf(service), volumes: mapOf({ type: 'null' }) }, ['services']),
  patternProperties: { '^x-': {} },
};
