import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filePatch } from '../../../src/core/artifacts/file-patch.js';
import { isChosen, taskArtifacts } from '../../../src/core/artifacts/kept-artifacts.js';
import { seededRandom } from '../../../src/core/seeded-random.js';

const text = (content: string, executable = false) => ({ text: content, executable });
/** What git makes of the text before by the patch. */
function applied(path: string, before: string | null, patch: string): string | null {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-patch-'));
  try {
    mkdirSync(join(dir, 'src'));
    if (before !== null) writeFileSync(join(dir, path), before);
    execFileSync('git', ['apply', '-'], {
      cwd: dir,
      input: patch,
      env: { ...process.env, GIT_CEILING_DIRECTORIES: tmpdir() },
    });
    try {
      return readFileSync(join(dir, path), 'utf8');
    } catch {
      return null;
    }
  } finally {
    rmSync(dir, { recursive: true });
  }
}

describe('patches of files', () => {
  it('says in the form of git what changed, with three lines around it', () => {
    const lines = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const before = text(`${lines.join('\n')}\n`);
    const after = text(`${lines.map((line) => (line === 'd' ? 'D' : line)).join('\n')}\n`, true);
    expect(filePatch({ path: 'x.txt', before, after })).toBe(
      'diff --git a/x.txt b/x.txt\nold mode 100644\nnew mode 100755\n--- a/x.txt\n+++ b/x.txt\n' +
        '@@ -1,7 +1,7 @@\n a\n b\n c\n-d\n+D\n e\n f\n g\n',
    );
    expect(filePatch({ path: 'x.txt', before, after: before })).toBeNull();
  });

  it('git applies it: new and removed files, no line break at the end, names with quotes, any edits', () => {
    const random = seededRandom('patches');
    const some = (n: number) => Array.from({ length: n }, () => `line ${Math.floor(random() * 6)}\n`).join('');
    const cases: [string, string | null, string | null][] = [
      ['src/new.ts', null, 'one\ntwo'],
      ['src/gone.ts', 'one\n', null],
      ['src/say "hi"\t.txt', 'one\n', 'one\ntwo\n'],
      ['src/é.txt', 'one', 'two'],
      ['src/far', `${some(40)}x\n`, `y\n${some(40)}`],
      ['src/all', 'a\n'.repeat(1500), 'b\n'.repeat(1500)],
      ...Array.from({ length: 12 }, (_, n): [string, string, string] => [
        `src/r${n}`,
        some(n * 3 + 1),
        some(40 - n * 2),
      ]),
    ];
    for (const [path, before, after] of cases) {
      const patch = filePatch({
        path,
        before: before === null ? null : text(before),
        after: after === null ? null : text(after),
      });
      expect(applied(path, before, patch ?? ''), path).toBe(after);
    }
  });
});

describe('chosen files', () => {
  it('fit patterns by names and directories', () => {
    const fits = (pattern: string, ...paths: string[]) => paths.filter((path) => isChosen(path, [pattern]));
    expect(fits('*.log', 'a.log', 'x/a.log', '.log', 'a.logs')).toEqual(['a.log', '.log']);
    expect(fits('**/*.log', 'a.log', 'x/y/a.log', 'x/a.txt')).toEqual(['a.log', 'x/y/a.log']);
    expect(fits('out/**', 'out/a', 'out/b/c', 'outer/a')).toEqual(['out/a', 'out/b/c']);
    expect(fits('src/?.py', 'src/a.py', 'src/ab.py')).toEqual(['src/a.py']);
    expect(fits('a*b*c', 'abc', 'axbxbxc', 'ab')).toEqual(['abc', 'axbxbxc']);
    const long = 'a'.repeat(4000);
    expect(fits('*a*a*a*a*a*a*a*a*b', long)).toEqual([]);
  });

  it('are paths below the workspace, and something is kept', () => {
    expect(taskArtifacts.parse({ patch: true })).toEqual({ patch: true, files: [], commandOutput: false });
    for (const bad of [{}, { patch: false }, { files: ['../x'] }, { files: ['/etc/passwd'] }, { logs: true }])
      expect(taskArtifacts.safeParse(bad).success).toBe(false);
  });
});
