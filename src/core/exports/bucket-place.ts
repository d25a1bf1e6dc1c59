import { z } from 'zod';

/** Places in an object store, `s3://bucket/prefix`, and where a tenant may export to. */

export interface BucketPlace {
  readonly bucket: string;
  /** Without slashes at its ends. */
  readonly prefix: string;
}

const BUCKET = '[a-z0-9][a-z0-9-]*(?:\\.[a-z0-9][a-z0-9-]*)*';
const NAME = '[A-Za-z0-9][\\w.-]{0,99}';
const PLACE = new RegExp(`^s3://(?=[^/]{3,63}(?:/|$))(${BUCKET})((?:/${NAME}){1,8})$`);
/** Where exports of tenants may go, as an operator writes it. */
const ROOT = new RegExp(`^s3://(?=[^/]{3,63}(?:/|$))${BUCKET}(?:/(?:${NAME}|\\{tenant\\})){0,8}$`);

export const PLACE_EXPECTED =
  'expected s3://bucket/prefix: names of letters, digits and _ . - with / between them, each beginning with a letter or digit';

export const bucketPlaceText = z.string().regex(PLACE, PLACE_EXPECTED);

export const isBucketText = (text: string): boolean => text.startsWith('s3://');

/** Whether a text is an address, of whatever kind, and so no path of a file. */
export const isAddressText = (text: string): boolean => /^[a-z][a-z\d+.-]*:\/\//i.test(text);

/** Null: it is none. */
export function bucketPlaceOf(text: string): BucketPlace | null {
  const [, bucket, path] = PLACE.exec(text) ?? [];
  return bucket === undefined || path === undefined ? null : { bucket, prefix: path.slice(1) };
}

/** Places with spaces between them; null: one of them is none. */
export function exportRootsOf(text: string): readonly string[] | null {
  const roots = text.trim().split(/\s+/);
  return roots.every((root) => ROOT.test(root)) ? roots : null;
}

/**
 * Where a tenant may export to, below. A place without `{tenant}` is that of the tenant `default` alone: others must name
 * themselves, so that none writes where another does.
 */
export function openRoots(roots: readonly string[], tenant: string): readonly string[] {
  const isName = new RegExp(`^${NAME}$`).test(tenant);
  return roots.flatMap((root) => {
    if (root.includes('{tenant}')) return isName ? [root.replaceAll('{tenant}', tenant)] : [];
    return tenant === 'default' ? [root] : [];
  });
}

export const isBelow = (place: string, roots: readonly string[]): boolean =>
  roots.some((root) => place.startsWith(`${root}/`));

/** What a key of an object store is made of, under the names that every program of S3 knows. */
export const OBJECT_STORE_KEYS = {
  accessKeyId: { variable: 'AWS_ACCESS_KEY_ID', description: 'Name of the key of the object store' },
  secretAccessKey: { variable: 'AWS_SECRET_ACCESS_KEY', description: 'The key itself' },
  sessionToken: { variable: 'AWS_SESSION_TOKEN', description: 'Token of a key that is valid for some time only' },
} as const;
