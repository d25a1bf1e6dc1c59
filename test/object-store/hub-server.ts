import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { batchBody, commitLine, createBody, headerLine, oid, preuploadBody } from './hub-shapes.js';

/**
 * A small Hugging Face Hub on 127.0.0.1, and beside it the store of its large files. It speaks what the clients huggingface_hub and
 * huggingface.js say of the protocol, and refuses whatever is not so: tokens, forms of requests, digests, sizes, parents of commits.
 */

export const TOKEN = 'hf_TestTestTestTestTestTestTestTest01';

type Entry =
  | { readonly kind: 'regular'; readonly content: Buffer }
  | { readonly kind: 'lfs'; readonly oid: string; readonly size: number };
type Tree = ReadonlyMap<string, Entry>;

interface Commit {
  readonly sha: string;
  readonly summary: string;
  readonly tree: Tree;
}

export interface Repository {
  readonly visibility: string;
  /** The newest is last. */
  readonly commits: Commit[];
}

/** What goes wrong with a request: an answer, or a connection that is cut before or after the work is done. */
export type HubFault =
  | { readonly status: number; readonly headers?: { readonly [name: string]: string }; readonly body?: string }
  | 'cut'
  | 'lost';

export interface HubServer {
  readonly url: string;
  readonly repositories: Map<string, Repository>;
  /** Large files by their digests. */
  readonly objects: Map<string, Buffer>;
  /** Method and path of each request, in their order; of the store, with its name before. */
  readonly asked: string[];
  /** Asked before each request, which waits for it. */
  fault: (method: string, path: string) => HubFault | null | Promise<HubFault | null>;
  token: string;
  /** Files of so many bytes or more are large. */
  largeFrom: number;
  /** Large files of more bytes are sent in parts of so many. */
  partBytes: number;
  /** What `.gitignore` names. */
  ignored: ReadonlySet<string>;
  /** The content of a file in the newest commit. */
  readonly content: (repository: string, path: string) => Buffer | undefined;
  readonly paths: (repository: string) => string[];
  readonly make: (repository: string, files?: { readonly [path: string]: string }) => void;
  readonly close: () => Promise<void>;
}

const hex = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');

class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code = '') {
    super(code);
    this.status = status;
    this.code = code;
  }
}

function parsed<T>(schema: z.ZodType<T>, content: Buffer | string): T {
  try {
    return schema.parse(JSON.parse(content.toString()));
  } catch {
    throw new Refusal(400, 'BadRequest');
  }
}

/** Null: the connection is cut. */
async function bodyOf(request: IncomingMessage, isCut: boolean): Promise<Buffer | null> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of request) {
      pieces.push(Buffer.from(piece));
      if (isCut) request.socket.destroy();
    }
  } catch {
    return null;
  }
  if (isCut) request.socket.destroy();
  return isCut ? null : Buffer.concat(pieces);
}

function jsonOf({ headers, content }: Asked): Buffer {
  if (headers['content-type'] !== 'application/json') throw new Refusal(415);
  return content;
}

interface Asked {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly content: Buffer;
}

interface Answer {
  readonly status?: number;
  readonly headers?: { readonly [name: string]: string };
  readonly json?: unknown;
  readonly body?: Buffer;
}

const listening = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

export async function startHub(): Promise<HubServer> {
  const repositories = new Map<string, Repository>();
  const objects = new Map<string, Buffer>();
  /** Parts that are in the store, by their addresses. */
  const parts = new Map<string, Buffer>();
  const addresses = new Map<string, { readonly oid: string; readonly size: number }>();
  const asked: string[] = [];
  let storeUrl = '';

  const repositoryOf = (name: string): Repository => {
    const found = repositories.get(name);
    if (found === undefined) throw new Refusal(404, 'RepoNotFound');
    return found;
  };
  const commitOf = (name: string, revision: string): Commit => {
    const { commits } = repositoryOf(name);
    const found = revision === 'main' ? commits.at(-1) : commits.find(({ sha }) => sha === revision);
    if (found === undefined) throw new Refusal(404, 'RevisionNotFound');
    return found;
  };
  const make = (name: string, files: { readonly [path: string]: string } = {}, visibility = 'public'): void => {
    const all = { '.gitattributes': '*.parquet filter=lfs', ...files };
    const tree = new Map(
      Object.entries(all).map(([one, text]) => [one, { kind: 'regular', content: Buffer.from(text) } as const]),
    );
    const sha = randomBytes(20).toString('hex');
    repositories.set(name, { visibility, commits: [{ sha, summary: 'initial commit', tree }] });
  };
  const addressFor = (object: { readonly oid: string; readonly size: number }): string => {
    const key = randomBytes(12).toString('hex');
    addresses.set(key, object);
    return `${storeUrl}/put/${key}?X-Amz-Signature=${randomBytes(16).toString('hex')}`;
  };

  const lfsAction = (object: { readonly oid: string; readonly size: number }) => {
    const known = objects.get(object.oid);
    if (known !== undefined) return object;
    const verify = { href: `${hub.url}/verify`, header: { 'x-verify': 'yes' } };
    if (object.size <= hub.partBytes) return { ...object, actions: { upload: { href: addressFor(object) }, verify } };
    const count = Math.ceil(object.size / hub.partBytes);
    const numbered = Array.from({ length: count }, (_, index) => {
      const size = Math.min(hub.partBytes, object.size - index * hub.partBytes);
      return [String(index + 1).padStart(5, '0'), addressFor({ oid: object.oid, size })] as const;
    });
    const header = { chunk_size: String(hub.partBytes), ...Object.fromEntries(numbered) };
    const href = `${hub.url}/complete?parts=${numbered.map(([, url]) => new URL(url).pathname.split('/').at(-1)).join('.')}`;
    return { ...object, actions: { upload: { href, header }, verify } };
  };

  const complete = ({ url, content }: Asked): Answer => {
    const keys = (url.searchParams.get('parts') ?? '').split('.');
    const shape = z.strictObject({
      oid,
      parts: z.array(z.strictObject({ partNumber: z.int(), etag: z.string() })).length(keys.length),
    });
    const body = parsed(shape, content);
    const pieces = keys.map((key, index) => {
      const piece = parts.get(key);
      const { partNumber, etag } = body.parts[index] ?? {};
      if (piece === undefined || partNumber !== index + 1 || etag !== `"${hex(piece)}"`)
        throw new Refusal(400, 'BadPart');
      return piece;
    });
    const whole = Buffer.concat(pieces);
    if (hex(whole) !== body.oid) throw new Refusal(400, 'BadDigest');
    objects.set(body.oid, whole);
    return { json: { success: true } };
  };

  const commit = (name: string, { headers, content }: Asked): Answer => {
    if (headers['content-type'] !== 'application/x-ndjson') throw new Refusal(415);
    const [first = '', ...lines] = content
      .toString()
      .split('\n')
      .filter((line) => line !== '');
    const { value } = parsed(headerLine, first);
    const parent = commitOf(name, 'main');
    if (value.parentCommit !== undefined && value.parentCommit !== parent.sha)
      throw new Refusal(412, 'PreconditionFailed');
    const tree = new Map(parent.tree);
    for (const line of lines) {
      const one = parsed(commitLine, line);
      if (one.key === 'deletedFile') {
        if (!tree.delete(one.value.path)) throw new Refusal(400, 'NoSuchFile');
      } else if (one.key === 'file')
        tree.set(one.value.path, { kind: 'regular', content: Buffer.from(one.value.content, 'base64') });
      else if (objects.get(one.value.oid)?.byteLength === one.value.size)
        tree.set(one.value.path, { kind: 'lfs', oid: one.value.oid, size: one.value.size });
      else throw new Refusal(400, 'LfsObjectMissing');
    }
    const sha = randomBytes(20).toString('hex');
    repositoryOf(name).commits.push({ sha, summary: value.summary, tree });
    return {
      json: { success: true, commitOid: sha, commitUrl: `${hub.url}/datasets/${name}/commit/${sha}`, hookOutput: '' },
    };
  };

  const treeOf = (name: string, revision: string, folder: string): Answer => {
    const under = folder === '' ? '' : `${folder}/`;
    const names = [...commitOf(name, revision).tree.keys()].filter((one) => one.startsWith(under));
    if (names.length === 0) throw new Refusal(404, 'EntryNotFound');
    const tops = new Set(names.map((one) => `${under}${one.slice(under.length).split('/')[0]}`));
    return { json: [...tops].map((one) => ({ type: names.includes(one) ? 'file' : 'directory', path: one, size: 1 })) };
  };

  const batch = ({ headers, content }: Asked): Answer => {
    const TYPE = 'application/vnd.git-lfs+json';
    if (headers['content-type'] !== TYPE || headers.accept !== TYPE) throw new Refusal(406);
    return { json: { transfer: 'basic', objects: parsed(batchBody, content).objects.map(lfsAction) } };
  };

  const verify = ({ headers, content }: Asked): Answer => {
    const told = parsed(z.strictObject({ oid, size: z.int() }), content);
    if (objects.get(told.oid)?.byteLength !== told.size || headers['x-verify'] !== 'yes') throw new Refusal(404);
    return { json: {} };
  };

  const create = (request: Asked): Answer => {
    const { name, organization, visibility } = parsed(createBody, jsonOf(request));
    if (organization !== 'acme') throw new Refusal(403);
    if (repositories.has(`${organization}/${name}`)) throw new Refusal(409);
    make(`${organization}/${name}`, {}, visibility);
    return { json: { url: `${hub.url}/datasets/${organization}/${name}` } };
  };

  const preupload = (request: Asked): Answer => {
    const files = parsed(preuploadBody, jsonOf(request)).files.map((file) => ({
      ...{ path: file.path, shouldIgnore: hub.ignored.has(file.path) },
      uploadMode: file.size >= hub.largeFrom || file.path.endsWith('.parquet') ? 'lfs' : 'regular',
    }));
    return { json: { files } };
  };

  const resolved = (name: string, revision: string, file: string): Answer => {
    const entry = commitOf(name, revision).tree.get(file);
    if (entry === undefined) throw new Refusal(404, 'EntryNotFound');
    if (entry.kind === 'regular') return { body: entry.content };
    return { status: 302, headers: { location: `${storeUrl}/get/${entry.oid}` } };
  };

  const WORK: { readonly [what: string]: (name: string, revision: string, rest: string, request: Asked) => Answer } = {
    'GET api revision': (name, revision) => ({ json: { id: name, sha: commitOf(name, revision).sha } }),
    'GET api tree': treeOf,
    'POST api preupload': (_name, _revision, _rest, request) => preupload(request),
    'POST api commit': (name, _revision, _rest, request) => commit(name, request),
    'GET files resolve': resolved,
  };
  const PLAIN: { readonly [what: string]: (request: Asked) => Answer } = {
    'POST /verify': verify,
    'POST /api/repos/create': create,
  };

  const ofHub = (request: Asked): Answer => {
    const { method, url, headers } = request;
    // Its address has what opens it.
    if (url.pathname === '/complete') return complete(request);
    if (headers.authorization !== `Bearer ${hub.token}`) throw new Refusal(401);
    const plain = PLAIN[`${method} ${url.pathname}`];
    if (plain !== undefined) return plain(request);
    const lfs = /^\/datasets\/([\w.-]+\/[\w.-]+)\.git\/info\/lfs\/objects\/batch$/.exec(url.pathname);
    if (lfs !== null && method === 'POST' && repositoryOf(lfs[1] ?? '')) return batch(request);
    const [, api, name = '', verb = '', revision = '', rest = ''] =
      /^\/(api\/)?datasets\/([\w.-]+\/[\w.-]+)\/(\w+)\/(\w+)(?:\/(.+))?$/.exec(url.pathname) ?? [];
    const work = WORK[`${method} ${api === undefined ? 'files' : 'api'} ${verb}`];
    if (work === undefined) throw new Refusal(404);
    repositoryOf(name);
    return work(name, revision, rest, request);
  };

  const ofStore = ({ method, url, headers, content }: Asked): Answer => {
    // The token of the Hub is not for others.
    if (headers.authorization !== undefined) throw new Refusal(400, 'TokenShown');
    const [, what = '', key = ''] = url.pathname.split('/');
    if (method === 'GET' && what === 'get') {
      const body = objects.get(key);
      if (body === undefined) throw new Refusal(404);
      return { body };
    }
    const place = addresses.get(key);
    if (method !== 'PUT' || place === undefined || !url.searchParams.has('X-Amz-Signature')) throw new Refusal(403);
    if (headers['content-length'] !== String(place.size) || content.byteLength !== place.size) throw new Refusal(400);
    parts.set(key, content);
    if (hex(content) === place.oid) objects.set(place.oid, content);
    else if (
      place.size === hub.partBytes ||
      [...addresses.values()].some((one) => one.oid === place.oid && one.size === hub.partBytes)
    )
      return { headers: { etag: `"${hex(content)}"` } };
    else throw new Refusal(400);
    return { headers: { etag: `"${hex(content)}"` } };
  };

  const answerTo = (work: (request: Asked) => Answer, request: Asked): Answer => {
    try {
      return work(request);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const headers = error.code === '' ? {} : { 'x-error-code': error.code };
      return { status: error.status, headers, json: { error: `hostile ${hub.token}` } };
    }
  };

  const serve =
    (work: (request: Asked) => Answer, name: string) =>
    async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const method = request.method ?? '';
      const url = new URL(request.url ?? '', 'http://hub');
      asked.push(`${name}${method} ${url.pathname}`);
      const fault = await hub.fault(`${name}${method}`, url.pathname);
      const content = await bodyOf(request, fault === 'cut');
      if (content === null) return;
      if (fault !== null && fault !== 'lost' && fault !== 'cut') {
        response.writeHead(fault.status, fault.headers).end(fault.body ?? `hostile ${hub.token}`);
        return;
      }
      const { status, headers, body, json } = answerTo(work, { method, url, headers: request.headers, content });
      if (fault === 'lost') request.socket.destroy();
      else response.writeHead(status ?? 200, headers).end(body ?? JSON.stringify(json ?? null));
    };

  const servers = [
    createServer((...one) => serve(ofHub, '')(...one)),
    createServer((...one) => serve(ofStore, 'store ')(...one)),
  ];
  const [hubUrl = '', store = ''] = await Promise.all(servers.map(listening));
  storeUrl = store;
  const newest = (name: string): Tree => repositories.get(name)?.commits.at(-1)?.tree ?? new Map();
  const hub: HubServer = {
    ...{ url: hubUrl, repositories, objects, asked, fault: () => null, token: TOKEN },
    ...{ largeFrom: 1000, partBytes: 1_000_000, ignored: new Set<string>() },
    make: (name, files) => make(name, files),
    paths: (name) => [...newest(name).keys()].filter((one) => one !== '.gitattributes').toSorted(),
    content: (name, one) => {
      const entry = newest(name).get(one);
      return entry?.kind === 'lfs' ? objects.get(entry.oid) : entry?.content;
    },
    close: async () => {
      for (const server of servers) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
  return hub;
}
