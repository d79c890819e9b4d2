// SPDX-License-Identifier: GPL-2.0
// Decodes the columns that html.py writes.

/**
 * Decodes base64.
 * @param {string} text
 */
function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/**
 * Decompresses deflated data.
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * Decodes a column from its planes of bytes: zigzag-encoded numbers, or differences of these.
 * @param {Uint8Array} bytes @param {ColumnPlace} about
 */
function column(bytes, about) {
  const { at, count, width, delta } = about;
  const values = new Float64Array(count);
  let sum = 0;
  if (width <= 3) {
    const p0 = at,
      p1 = at + count,
      p2 = at + 2 * count;
    for (let i = 0; i < count; i++) {
      let folded = bytes[p0 + i];
      if (width > 1) folded |= bytes[p1 + i] << 8;
      if (width > 2) folded |= bytes[p2 + i] << 16;
      const value = (folded >>> 1) ^ -(folded & 1);
      values[i] = delta ? (sum += value) : value;
    }
    return values;
  }
  for (let plane = width - 1; plane >= 0; plane--) {
    const from = at + plane * count;
    for (let i = 0; i < count; i++) values[i] = values[i] * 256 + bytes[from + i];
  }
  for (let i = 0; i < count; i++) {
    const folded = values[i];
    const odd = bytes[at + i] & 1;
    const value = odd ? -(folded + 1) / 2 : folded / 2;
    values[i] = delta ? (sum += value) : value;
  }
  return values;
}

/**
 * Decodes all columns of a chunk, by name.
 * @param {string} text @param {Record<string, ColumnPlace>} columns
 */
async function unpack(text, columns) {
  const bytes = await inflate(fromBase64(text.trim()));
  /** @type {{ columns: Columns, texts: Record<string, string[]> }} */
  const found = { columns: {}, texts: {} };
  for (const [name, about] of Object.entries(columns)) {
    if (about.text) found.texts[name] = about.count ? strings(bytes, about) : [];
    else found.columns[name] = column(bytes, about);
  }
  return found;
}

/** @param {Uint8Array} bytes @param {ColumnPlace} about */
function strings(bytes, about) {
  return new TextDecoder().decode(bytes.subarray(about.at, about.at + about.bytes)).split("\n");
}
