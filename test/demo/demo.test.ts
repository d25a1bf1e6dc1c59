import { readdirSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { Program } from '../cli/program.js';
import { SLOW } from '../harness/slow.js';

const places = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('holdfast-demo-'));

/** Processes whose directory is one of a demo. */
const servers = (): string[] =>
  readdirSync('/proc').filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`).includes('holdfast-demo-');
    } catch {
      return false;
    }
  });

const ENDS: Readonly<Record<string, (demo: Program) => unknown>> = {
  'the reader of its output goes away': ({ child }) => child.stdout?.destroy(),
  'its terminal is closed': ({ child }) => child.kill('SIGHUP'),
  'it is interrupted': ({ child }) => child.kill('SIGINT'),
};
it.runIf(SLOW).each(Object.entries(ENDS))(
  'the demo leaves no server and no directory when %s',
  { timeout: 60_000 },
  async (_why, end) => {
    const before = { places: places(), servers: servers() };
    const demo = new Program(['demo'], { cwd: tmpdir() });
    await demo.printed(/up on PGlite/);
    end(demo);
    await demo.ended;
    expect({ places: places(), servers: servers() }).toEqual(before);
  },
);

it.runIf(SLOW)('the demo kills its server three times, and everything holds', { timeout: 140_000 }, async () => {
  const before = places();
  const { code, stdout, stderr } = await new Program(['demo'], { cwd: tmpdir() }).ended;
  expect(stderr).toBe('');
  expect(code, stdout).toBe(0);
  expect(stdout).toContain('The model is scripted');
  expect(stdout.match(/KILL -9/g)?.length).toBe(3);
  expect(stdout.match(/restart {3}the server is back after \d+\.\d s/g)?.length).toBe(3);
  expect(stdout.match(/recovered the run goes on, \d+\.\d s after the kill/g)?.length).toBe(2);
  expect(stdout.match(/over HTTP: (answer|approve|reject) /g)?.sort()).toEqual([
    'over HTTP: answer ',
    'over HTTP: approve ',
    'over HTTP: reject ',
  ]);
  const payments = /The payments file\n-+\n([\s\S]+?)\n\n/.exec(stdout)?.[1]?.split('\n') ?? [];
  expect(payments.map((line) => line.replace(/^pay-\w+ +/, ''))).toEqual([
    '148.80 EUR  Ada Byron',
    '352.25 EUR  Ben Okafor',
    '89.15 GBP  Dana Silva',
  ]);
  expect(stdout).toMatch(/^ok: \d+ events, complete$/m);
  expect(stdout).toContain('All holds');
  expect(stdout.split('\n').filter((line) => line.length > 84)).toEqual([]);
  expect(places()).toEqual(before);
});
