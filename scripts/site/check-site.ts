import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

/** What is wrong with the pages that were written: links to nothing, and anything that a browser would load from another host. */
export function faultsOf(site: string, base: string): readonly string[] {
  const pages = filesBelow(site).filter((file) => file.endsWith('.html'));
  const anchors = new Map(pages.map((page) => [page, anchorsOf(page)]));
  return pages.flatMap((page) => {
    const html = readFileSync(page, 'utf8');
    const here = relative(site, page);
    const foreign = [...html.matchAll(LOADED)]
      .map(([, source, linked, styled]) => source ?? linked ?? styled ?? '')
      .filter((address) => /^(?:https?:)?\/\//.test(address))
      .map((address) => `${here}: loads ${address}`);
    const links = [...html.matchAll(/<a\b[^>]*?\shref="([^"]*)"/g)].map(([, href = '']) => href);
    const dead = links.filter((href) => !/^[a-z]+:/.test(href) && !leads(href)).map((href) => `${here}: ${href}`);
    return [...foreign, ...dead];

    function leads(href: string): boolean {
      const { pathname, hash } = new URL(href.replaceAll('&amp;', '&'), `http://site${base}${here}`);
      const target = fileOf(decodeURIComponent(pathname));
      return target !== null && (hash === '' || anchors.get(target)?.has(decodeURIComponent(hash.slice(1))) === true);
    }
  });

  function fileOf(path: string): string | null {
    if (!path.startsWith(base)) return null;
    const file = join(site, path.slice(base.length));
    const names = [file, `${file}.html`, join(file, 'index.html')];
    return names.find((one) => existsSync(one) && statSync(one).isFile()) ?? null;
  }
}

/** Addresses that a browser loads by itself: of scripts, pictures, frames, style sheets and fonts. */
const LOADED =
  /<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\ssrc="([^"]*)"|<link\b[^>]*?\shref="([^"]*)"|url\(["']?([^"')]*)/g;

const anchorsOf = (page: string): ReadonlySet<string> =>
  new Set([...readFileSync(page, 'utf8').matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id));

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
