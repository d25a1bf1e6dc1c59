import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { RequestHandler } from 'express';

/** The built console: one page for all its addresses, and the scripts and styles that the page names. */
export interface ConsoleFiles {
  readonly page: string;
  /** By name, which has a digest of the content. */
  readonly assets: ReadonlyMap<string, Buffer>;
}

/** Reads the built console. Returns null where it was not built. */
export function readConsole(): ConsoleFiles | null {
  const index = createRequire(import.meta.url).resolve('#console');
  const folder = join(dirname(index), 'assets');
  try {
    const assets = new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
    return { page: readFileSync(index, 'utf8'), assets };
  } catch {
    return null;
  }
}

/** Addresses of pages. All else stays unknown. */
const PAGES = [
  ...['/', '/login', '/inbox', '/inbox/:id', '/runs', '/runs/:id', '/runs/:id/compare/:other'],
  ...['/tasks', '/tasks/:id', '/batches', '/batches/:id', '/agents', '/agents/:name', '/operations'],
  ...['/evolution', '/evolution/:name', '/evolution/:name/:id', '/memory', '/memory/:space', '/memory/:space/document'],
  ...['/statistics', '/data', '/sessions/:id', '/settings'],
];

const TYPES: { readonly [extension: string]: string } = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** https://www.w3.org/TR/trusted-types: with `'none'` no script can turn a text into HTML or code. */
const POLICY = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"],
  ...["manifest-src 'self'", "form-action 'none'", "base-uri 'none'", "frame-ancestors 'none'"],
  ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
].join('; ');

const HEADERS = {
  'Content-Security-Policy': POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=(), serial=(), clipboard-read=()',
  'X-Frame-Options': 'DENY',
};

const FOREVER = 'public, max-age=31536000, immutable';

/** The routes of the console, as Express mounts them. */
export function consoleRoutes({ page, assets }: ConsoleFiles): readonly (readonly [string, RequestHandler])[] {
  const sendPage: RequestHandler = (_request, response) => {
    response.set(HEADERS).set('Cache-Control', 'no-cache').type('html').send(page);
  };
  const sendAsset: RequestHandler = (request, response, next) => {
    const name = String(request.params['name']);
    const content = assets.get(name);
    if (content === undefined) return next();
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
    response.set(HEADERS).set('Cache-Control', FOREVER).set('Content-Type', type).send(content);
  };
  return [...PAGES.map((path) => [path, sendPage] as const), ['/assets/:name', sendAsset]];
}
