/** Addresses of objects: with the bucket in the path where an endpoint is given, and in the name of the host at Amazon. */

export interface ObjectName {
  readonly bucket: string;
  readonly key: string;
}

interface Place {
  readonly endpoint: string | null;
  readonly region: string;
}

function bucketUrl({ endpoint, region }: Place, bucket: string): URL {
  if (endpoint !== null) {
    const url = new URL(endpoint);
    return new URL(`${url.pathname.replace(/\/+$/, '')}/${bucket}`, url.origin);
  }
  const host = `s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
  // The certificate is for one name before the host.
  return bucket.includes('.') ? new URL(`https://${host}/${bucket}`) : new URL(`https://${bucket}.${host}/`);
}

export function objectUrl(place: Place, { bucket, key }: ObjectName): URL {
  const url = bucketUrl(place, bucket);
  const path = key.split('/').map(encodeURIComponent).join('/');
  url.pathname = `${url.pathname.replace(/\/$/, '')}/${path}`;
  return url;
}

export function listUrl(
  place: Place,
  bucket: string,
  { prefix, after, limit }: { readonly prefix: string; readonly after?: string; readonly limit: number },
): URL {
  const url = bucketUrl(place, bucket);
  url.searchParams.set('list-type', '2');
  url.searchParams.set('encoding-type', 'url');
  url.searchParams.set('prefix', prefix);
  url.searchParams.set('max-keys', String(limit));
  if (after !== undefined) url.searchParams.set('start-after', after);
  return url;
}

/** Whether an answer is one of ListObjectsV2. */
export const isList = (xml: string): boolean => /<ListBucketResult[\s>/]/.test(xml);

/** The keys in an answer of ListObjectsV2. They are encoded as in addresses, so that nothing of XML is in them. */
export function namesIn(xml: string): readonly string[] {
  return [...xml.matchAll(/<Key>([^<]*)<\/Key>/g)].flatMap(([, key = '']) => {
    try {
      return [decodeURIComponent(key.replaceAll('+', ' '))];
    } catch {
      return [];
    }
  });
}
