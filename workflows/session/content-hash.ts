import type { Part } from '../../protocol/messages.js';

/**
 * A fingerprint of a message's content, to tell a repeat from a reused id. Not cryptographic: nobody gains by a collision,
 * and the sandbox has no crypto. 53 bits (cyrb53), as 14 hexadecimal digits.
 */
export function contentHash(parts: Part[]): string {
  return hashText(JSON.stringify(parts));
}

export function hashText(text: string): string {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    high = Math.imul(high ^ unit, 2654435761);
    low = Math.imul(low ^ unit, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return (4294967296 * (2097151 & low) + (high >>> 0)).toString(16).padStart(14, '0');
}
