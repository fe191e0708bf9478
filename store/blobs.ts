import { createHash } from 'node:crypto';
import type { Db, Tx } from './schema.js';

export interface Blob {
  bytes: Uint8Array;
  mediaType: string;
}

export function blobRef(bytes: Uint8Array): string {
  return `blob:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** The same bytes are kept once, under the media type that came first: whoever refers to them names its own. */
export async function putBlob(tx: Tx, { bytes, mediaType }: Blob, nowMs: number): Promise<string> {
  const ref = blobRef(bytes);
  await tx
    .insertInto('blobs')
    .values({ ref, media_type: mediaType, bytes, created_at_ms: nowMs })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return ref;
}

export async function getBlob(db: Db, ref: string): Promise<Blob | null> {
  const row = await db.selectFrom('blobs').select(['bytes', 'media_type']).where('ref', '=', ref).executeTakeFirst();
  if (!row) return null;
  const { buffer, byteOffset, byteLength } = row.bytes; // a driver's Buffer, handed out as the plain bytes it is
  return { bytes: new Uint8Array(buffer, byteOffset, byteLength), mediaType: row.media_type };
}
