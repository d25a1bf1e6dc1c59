import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);

/** YAML. Loaded when it is asked for: it takes longer to load than most commands take in all. */
export const yaml = (): typeof import('yaml') => load('yaml');

/** TOML, likewise. */
export const toml = (): typeof import('smol-toml') => load('smol-toml');
