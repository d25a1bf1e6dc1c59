import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { parseTokens } from '../../src/core/access-token.js';
import { pageText } from '../docs/pages.js';

/** The files under deploy: what they say of Holdfast is so. */

const DEPLOY = join(import.meta.dirname, '../../deploy');
const textOf = (name: string): string => readFileSync(join(DEPLOY, name), 'utf8');

const service = z.object({
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()),
  read_only: z.boolean().optional(),
});
const compose = z
  .object({ services: z.record(z.string(), service) })
  .parse(parse(textOf('compose.yaml'), { merge: true }));

describe('deploy', () => {
  it('names settings that exist', () => {
    const known = new Set([...pageText('docs/settings.md').matchAll(/`([A-Z][A-Z\d_]+)`/g)].map(([, name]) => name));
    const texts = ['Dockerfile', 'compose.yaml', 'holdfast.service'].map(textOf).join('\n');
    const named = [...texts.matchAll(/\b(HOLDFAST_[A-Z_]+|DATABASE_URL)\b/g)].map(([, name]) => name);
    expect(named.length).toBeGreaterThan(10);
    expect([...new Set(named)].filter((name) => name !== 'HOLDFAST_IMAGE' && !known.has(name))).toEqual([]);
  });

  it('has one server and two workers of their own names in the compose file', () => {
    const { postgres, ...ours } = compose.services;
    expect(postgres).toBeDefined();
    const roles = Object.values(ours).map(({ command = [] }) => command.join(' '));
    expect(roles).toEqual(['serve --role api', 'serve --role worker', 'serve --role worker']);
    const ids = Object.values(ours).map(({ environment }) => environment['HOLDFAST_WORKER_ID']);
    expect(ids).toEqual(Object.keys(ours));
    expect(Object.values(ours).every(({ read_only }) => read_only === true)).toBe(true);
    // A worker serves nothing, so that it needs no tokens.
    expect(Object.values(ours).map(({ environment }) => 'HOLDFAST_TOKENS' in environment)).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('waits longer for a stop than the server takes', () => {
    const grace = Number(/HOLDFAST_SHUTDOWN_GRACE_MS: '(\d+)'/.exec(textOf('compose.yaml'))?.[1]);
    const composeSeconds = Number(/stop_grace_period: (\d+)s/.exec(textOf('compose.yaml'))?.[1]);
    const unit = Number(/HOLDFAST_SHUTDOWN_GRACE_MS=(\d+)/.exec(textOf('holdfast.service'))?.[1]);
    const unitSeconds = Number(/TimeoutStopSec=(\d+)/.exec(textOf('holdfast.service'))?.[1]);
    expect(composeSeconds * 1000).toBeGreaterThan(grace);
    expect(unitSeconds * 1000).toBeGreaterThan(unit);
  });

  it('has tokens on its page that the server takes', () => {
    const list = /HOLDFAST_TOKENS=(\[.*\])/.exec(pageText('docs/operate/container-image.md'))?.[1] ?? '';
    expect(parseTokens('HOLDFAST_TOKENS', list)).toHaveLength(1);
  });

  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
  it.runIf(hasSystemd)('has a unit that systemd takes', () => {
    const verify = () =>
      execFileSync('systemd-analyze', ['verify', join(DEPLOY, 'holdfast.service')], { stdio: 'pipe' });
    expect(verify().toString()).toBe('');
  });
});
