import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A small object store that speaks S3's protocol on 127.0.0.1. It checks every signature by its own arithmetic, after
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html, and every digest of what it is sent.
 */

export const KEYS = { accessKeyId: 'AKIATESTTESTTEST', secretAccessKey: 'test/secret+key/of+forty+characters/0123' };
export const REGION = 'eu-test-1';
export const BUCKET = 'training';

interface Stored {
  readonly content: Buffer;
  readonly headers: IncomingMessage['headers'];
}

/** What goes wrong with a request: an answer, a connection that is cut before or after the work is done, or silence. */
export type Fault = { readonly status: number; readonly code: string } | 'cut' | 'lost' | 'silent';

export interface S3Server {
  readonly url: string;
  readonly objects: Map<string, Stored>;
  /** Method and key of each request, in their order. */
  readonly asked: string[];
  /** Asked before each request, which waits for it. */
  fault: (method: string, key: string) => Fault | null | Promise<Fault | null>;
  /** Old stores know no conditions. */
  conditions: boolean;
  secretAccessKey: string;
  readonly close: () => Promise<void>;
}

const hex = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
const encode = (text: string) =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
const decode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '));

/** Null: it is signed as it must be. */
function signatureProblem(request: IncomingMessage, secret: string): string | null {
  const said =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      request.headers.authorization ?? '',
    );
  if (said === null) return 'AccessDenied';
  const [, id, day = '', region = '', names = '', signature] = said;
  if (id !== KEYS.accessKeyId) return 'InvalidAccessKeyId';
  if (region !== REGION) return 'AuthorizationHeaderMalformed';
  const signed = names.split(';');
  const must = ['host', ...Object.keys(request.headers).filter((name) => name.startsWith('x-amz-'))];
  if (must.some((name) => !signed.includes(name))) return 'AccessDenied';
  const time = String(request.headers['x-amz-date']);
  if (!time.startsWith(day)) return 'AccessDenied';
  const [path = '', search = ''] = (request.url ?? '').split('?');
  const query = search
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => pair.split('=').map((part) => encode(decode(part))))
    .map(([name, value = '']) => `${name}=${value}`)
    .toSorted()
    .join('&');
  const canonical = [
    ...[
      request.method,
      path
        .split('/')
        .map((part) => encode(decodeURIComponent(part)))
        .join('/'),
      query,
    ],
    ...signed.map((name) => `${name}:${String(request.headers[name]).trim().replaceAll(/ +/g, ' ')}`),
    ...['', names, String(request.headers['x-amz-content-sha256'])],
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    (sum, part) => hmac(sum, part),
    `AWS4${secret}`,
  );
  const own = hmac(key, ['AWS4-HMAC-SHA256', time, scope, hex(canonical)].join('\n')).toString('hex');
  return own === signature ? null : 'SignatureDoesNotMatch';
}

const STATUS: { readonly [code: string]: number } = {
  ...{ AuthorizationHeaderMalformed: 400, NoSuchBucket: 404, NoSuchKey: 404, PreconditionFailed: 412 },
  ...{ XAmzContentSHA256Mismatch: 400, BadDigest: 400, MissingContentLength: 411, NotImplemented: 501 },
};

export async function startS3(): Promise<S3Server> {
  const objects = new Map<string, Stored>();
  const asked: string[] = [];
  const work = (request: IncomingMessage, response: ServerResponse, content: Buffer): void => {
    const method = request.method ?? '';
    const refuse = (code: string) => {
      const xml = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>&lt;b&gt;${store.secretAccessKey}</Message></Error>`;
      response.writeHead(STATUS[code] ?? 403, { 'content-type': 'application/xml' }).end(method === 'HEAD' ? '' : xml);
    };
    const url = new URL(request.url ?? '', 'http://store');
    const [, bucket = '', ...rest] = url.pathname.split('/').map(decodeURIComponent);
    const key = rest.join('/');
    const problem = signatureProblem(request, store.secretAccessKey);
    if (problem !== null) {
      refuse(problem);
      return;
    }
    if (bucket !== BUCKET) {
      refuse('NoSuchBucket');
      return;
    }
    if (key === '') {
      response.writeHead(200).end(listOf([...objects.keys()].toSorted(), url.searchParams));
      return;
    }
    const there = objects.get(key);
    const wrong = method === 'PUT' ? whyNotMade(request, content, there !== undefined) : null;
    if (wrong !== null) refuse(wrong);
    else if (method === 'PUT') {
      objects.set(key, { content, headers: request.headers });
      response.writeHead(200).end();
    } else if (method === 'DELETE') {
      objects.delete(key);
      response.writeHead(204).end();
    } else if (there === undefined) refuse('NoSuchKey');
    else {
      const labels = Object.entries(there.headers).filter(([name]) => name.startsWith('x-amz-meta-'));
      const headers = { ...Object.fromEntries(labels), 'content-length': there.content.byteLength };
      response.writeHead(200, headers).end(method === 'HEAD' ? undefined : there.content);
    }
  };
  const whyNotMade = ({ headers }: IncomingMessage, content: Buffer, isThere: boolean): string | null => {
    if (headers['content-length'] === undefined) return 'MissingContentLength';
    if (hex(content) !== headers['x-amz-content-sha256']) return 'XAmzContentSHA256Mismatch';
    if (createHash('md5').update(content).digest('base64') !== headers['content-md5']) return 'BadDigest';
    if (headers['if-none-match'] === undefined) return null;
    if (!store.conditions) return 'NotImplemented';
    return isThere ? 'PreconditionFailed' : null;
  };
  const server = createServer(async (request, response) => {
    const key = new URL(request.url ?? '', 'http://store').pathname.split('/').slice(2).join('/');
    asked.push(`${request.method} ${key}`);
    const fault = await store.fault(request.method ?? '', key);
    if (fault === 'silent') return;
    const pieces: Buffer[] = [];
    try {
      for await (const piece of request) {
        pieces.push(Buffer.from(piece));
        if (fault === 'cut') request.socket.destroy();
      }
    } catch {
      return;
    }
    if (fault === 'cut') request.socket.destroy();
    else if (fault === null) work(request, response, Buffer.concat(pieces));
    else if (fault === 'lost') {
      // Done, and no one hears of it.
      response.writeHead = () => response;
      response.end = () => {
        request.socket.destroy();
        return response;
      };
      work(request, response, Buffer.concat(pieces));
    } else response.writeHead(fault.status).end(`<Error><Code>${fault.code}</Code></Error>`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const store: S3Server = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ objects, asked, fault: () => null, conditions: true, secretAccessKey: KEYS.secretAccessKey },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return store;
}

function listOf(keys: readonly string[], query: URLSearchParams): string {
  const after = query.get('start-after') ?? '';
  const found = keys.filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after);
  const page = found.slice(0, Number(query.get('max-keys')));
  const contents = page.map(
    (key) => `<Contents><Key>${encode(key).replaceAll('%2F', '/')}</Key><Size>1</Size></Contents>`,
  );
  return `<?xml version="1.0"?><ListBucketResult><IsTruncated>${page.length < found.length}</IsTruncated>${contents.join('')}</ListBucketResult>`;
}
