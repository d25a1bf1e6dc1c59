import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { importedFiles, stampOf } from '../../src/cli/commands/server/dev-server.js';
import { freePort } from '../harness/free-port.js';
import { SLOW } from '../harness/slow.js';
import { runHere } from './in-process.js';
import { Program } from './program.js';

/** `holdfast dev`: a server that follows the changes of its configuration. */

const REPOSITORY = join(import.meta.dirname, '../..');
const dir = mkdtempSync(join(tmpdir(), 'holdfast-dev-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

it('finds what a configuration imports, directly or through others, and sees each change', () => {
  const write = (path: string, text: string): string => {
    mkdirSync(join(dir, 'imports/sub'), { recursive: true });
    writeFileSync(join(dir, 'imports', path), text);
    return join(dir, 'imports', path);
  };
  const config = write(
    'holdfast.config.ts',
    `import { a } from './a.js';\nimport './sub';\nconst b = await import("./b");\nimport { z } from 'zod';\nimport './gone.js';\n`,
  );
  const files = [
    write('a.ts', `export { c } from './c.mjs';\nimport './a.js';\n`),
    write('b.js', `require('../imports/d.json');`),
    write('c.mts', ''),
    write('d.json', '{}'),
    write('sub/index.ts', ''),
  ];
  write('other.ts', '');
  const found = importedFiles(config);
  expect([...found].sort()).toEqual([config, ...files].sort());
  const before = stampOf(found);
  expect(stampOf(found)).toBe(before);
  writeFileSync(join(dir, 'imports/c.mts'), 'export const c = 1;');
  expect(stampOf(found)).not.toBe(before);
});

it.runIf(SLOW)(
  'starts a new build with each change that loads; paused runs go on in it',
  async () => {
    const project = join(dir, 'project');
    expect((await runHere(['init', project], {})).code).toBe(0);
    mkdirSync(join(project, 'node_modules'));
    symlinkSync(REPOSITORY, join(project, 'node_modules/holdfast'));
    for (const name of ['@openai', 'zod'])
      symlinkSync(join(REPOSITORY, 'node_modules', name), join(project, 'node_modules', name));
    const at = { cwd: project, env: { HOLDFAST_PORT: String(await freePort()) } };
    const run = (...args: readonly string[]) => new Program(args, at).ended;

    const dev = new Program(['dev'], at);
    try {
      await dev.printed(/^agents +cashier$/m);
      await dev.printed(/\/login#code=/);
      const paused = JSON.parse((await run('run', 'cashier', 'go', '--wait', '--json')).stdout);
      expect(paused).toMatchObject({ status: 'paused' });

      const tool = join(project, 'refund.ts');
      const text = readFileSync(tool, 'utf8');
      writeFileSync(tool, `${text}\nexport const = 1;\n`);
      await expect.poll(() => dev.stderr).toContain('the old one works on');
      expect(dev.stderr).toContain('refund.ts');
      expect((await run('show', paused.id)).code).toBe(0);

      writeFileSync(tool, text.replace('receipt: `', 'receipt: `new '));
      await dev.printed(/changed +refund\.ts[\s\S]*changed +refund\.ts[\s\S]*^agents +cashier$/m);
      await run('approve', paused.interruptions[0]);
      expect((await run('wait', paused.id)).stdout).toContain('Order 1042 is refunded.');
      expect((await run('events', paused.id, '--json')).stdout).toContain('"new 1042 ');
      expect(await run('dev', '--check')).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/config\.ts: cashier\n$/),
      });
    } finally {
      dev.child.kill('SIGTERM');
    }
    const { code, stdout } = await dev.ended;
    expect(code).toBe(0);
    expect(stdout.match(/login#code=/g)).toHaveLength(1);
  },
  480_000,
);
