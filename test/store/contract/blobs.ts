import { createHash } from 'node:crypto';
import type { StoreFixture } from './store-fixture.js';

export function describeBlobs(fixture: StoreFixture): void {
  const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => index % 256);

  test('content is found under its hash, byte for byte', async () => {
    const ref = await fixture.store.putBlob({ bytes, mediaType: 'image/png' });
    expect(ref).toBe(`blob:${createHash('sha256').update(bytes).digest('hex')}`);
    const found = await fixture.store.getBlob(ref);
    expect(found?.mediaType).toBe('image/png');
    expect(Buffer.compare(found!.bytes, bytes)).toBe(0);
    expect(Buffer.isBuffer(found?.bytes)).toBe(false);
  });

  test('the same content is stored once, and nothing under no content at all', async () => {
    const { store } = fixture;
    const first = await store.putBlob({ bytes, mediaType: 'image/png' });
    expect(await store.putBlob({ bytes, mediaType: 'image/gif' })).toBe(first);
    expect((await store.getBlob(first))?.mediaType).toBe('image/png');
    const empty = await store.putBlob({ bytes: new Uint8Array(), mediaType: 'text/plain' });
    expect((await store.getBlob(empty))?.bytes).toHaveLength(0);
  });

  test('an unknown reference is null', async () => {
    expect(await fixture.store.getBlob('blob:0000')).toBeNull();
  });
}
