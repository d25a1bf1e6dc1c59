import { describe, expect, it } from 'vitest';
import { type Edit, editText } from '../../../src/tools/aider/edit-text.js';
import { nearestLines, WORK_OF_ANSWER } from '../../../src/tools/aider/locate-lines.js';
import { readCommands, readEdits } from '../../../src/tools/aider/read-edits.js';
import { spliceBetween } from '../../../src/tools/container/splice-file.js';

/** Edits that models write from memory, and where they belong in a file. */

const after = (before: string | null, edit: Edit, left = WORK_OF_ANSWER) => editText('a.py', before, edit, { left });
const block = (before: string | null, search: string, replace: string) =>
  after(before, { kind: 'block', search, replace });
const hunk = (before: string | null, lines: string) => after(before, { kind: 'hunk', lines });
const text = (result: ReturnType<typeof after>) => (result.type === 'edited' ? result.text : `failed: ${result.why}`);

const FILE = 'def f():\n    if a:\n        return 1\n    return 2\n\ndef g():\n    return 2\n';

describe('a block', () => {
  it.each([
    ['as it stands', FILE, '    return 2\n', '    return 3\n', FILE.replace('    return 2', '    return 3')],
    ['with other ends of lines', 'a  \nb\n', 'a\nb\n', 'c\n', 'c\n'],
    [
      'with less indentation',
      FILE,
      'if a:\n    return 1\n',
      'if b:\n    return 9\n',
      FILE.replace('if a', 'if b').replace('return 1', 'return 9'),
    ],
    [
      'with another indentation',
      FILE,
      '  if a:\n      return 1\n',
      '  if b:\n      return 9\n',
      FILE.replace('if a', 'if b').replace('return 1', 'return 9'),
    ],
    [
      'with a blank line too many',
      FILE,
      '\ndef f():\n    if a:\n',
      'def f(x):\n    if x:\n',
      FILE.replace('f()', 'f(x)').replace('if a', 'if x'),
    ],
    [
      'with dots',
      FILE,
      'def f():\n...\ndef g():\n',
      'def f2():\n...\ndef g2():\n',
      FILE.replace('f()', 'f2()').replace('g()', 'g2()'),
    ],
    ['of nothing, at the end', 'a', '', 'b\n', 'a\nb\n'],
    ['that deletes', 'a\nb\nc\n', 'b\n', '', 'a\nc\n'],
    ['in lines that end with CR LF', 'a\r\nb\r\n', 'a\n', 'c\nd\n', 'c\r\nd\r\nb\r\n'],
    ['of a file that is not there', null, '', 'new\n', 'new\n'],
    ['with patterns in its new lines', 'a\n', 'a\n', "$& $1 $' $`\n", "$& $1 $' $`\n"],
  ])('%s', (_name, before, search, replace, expected) => {
    expect(text(block(before, search, replace))).toBe(expected);
  });

  it('that stands nowhere is told the nearest lines, with those around them', () => {
    const failed = text(block(FILE, 'def g(x):\n    return 22\n', 'x\n'));
    expect(failed).toContain('These lines do not stand in a.py:\n```\ndef g(x):\n    return 22\n```');
    expect(failed).toContain('Did you mean these, as they stand there?');
    expect(failed).toContain('def g():\n    return 2\n```');
    expect(text(block(FILE, 'nothing like it\n', 'def g():\n'))).toContain('is in a.py already');
    expect(text(block(FILE, 'nothing like it\n', 'x\n'))).not.toContain('Did you mean');
    expect(text(block(null, 'a\n', 'b\n'))).toContain('There is no file a.py');
    expect(text(block(FILE, 'def f():\n...\ndef g():\n', 'x\n'))).toContain(
      '"..." 1 times in what is sought, and 0 times',
    );
    expect(text(block(FILE, 'return 2\n...\ndef g():\n', 'x\n...\ny\n'))).toContain('more than once');
  });
});

describe('a hunk', () => {
  it.each([
    ['found by its lines alone', FILE, ' def g():\n-    return 2\n+    return 3\n', FILE.replace(/2\n$/, '3\n')],
    [
      'whose blank context has lost its space',
      FILE,
      '     return 2\n\n-def g():\n+def h():\n',
      FILE.replace('g()', 'h()'),
    ],
    [
      'with wrong context on one side',
      FILE,
      ' def wrong():\n-        return 1\n+        return 9\n     return 2\n',
      FILE.replace('return 1', 'return 9'),
    ],
    [
      'with two changes, and something between them that was left out',
      FILE,
      '-def f():\n+def f2():\n-def g():\n+def g2():\n',
      null,
    ],
    ['that makes a file', null, '+a\n+b\n', 'a\nb\n'],
    ['that only adds, at the end', 'a\n', '+b\n', 'a\nb\n'],
    ['with less indentation', FILE, '-if a:\n+if b:\n     return 1\n', FILE.replace('if a', 'if b')],
  ])('%s', (_name, before, lines, expected) => {
    const result = hunk(before, lines);
    if (expected === null) expect(result.type).toBe('failed');
    else expect(text(result)).toBe(expected);
  });

  it('that stands in two places is refused', () => {
    expect(text(hunk(FILE, '-    return 2\n+    return 3\n'))).toContain('more than once');
  });
});

describe('an answer', () => {
  const blocks = (answer: string) => readEdits(answer, 'diff');

  it('names the file of a block in many ways', () => {
    const edit = '<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n';
    for (const above of [
      'a.py\n',
      'a.py\n```python\n',
      '**a.py**\n```\n',
      '`a.py`:\n',
      '### a.py\n',
      '```python a.py\n'.replace('python ', ''),
      '```\na.py\n```python\n',
    ])
      expect(blocks(`Text.\n\n${above}${edit}`)).toMatchObject({
        problem: null,
        edits: [{ path: 'a.py', edit: { search: 'a\n', replace: 'b\n' } }],
      });
    expect(blocks(`a.py\n${edit}${edit}`).edits.map(({ path }) => path)).toEqual(['a.py', 'a.py']);
    expect(blocks(`\n${edit}`).problem).toContain('has no name of a file');
    expect(blocks('a.py\n<<<<<<< SEARCH\na\n').problem).toContain('has no line "======="');
    expect(blocks(`a.py\n<<<<<<< SEARCH\na\n=======\nb\n${edit}`).problem).toContain('>>>>>>> REPLACE');
    expect(blocks('Nothing to do.')).toEqual({ edits: [], problem: null });
  });

  it('has diffs of several files and hunks', () => {
    const answer =
      '```diff\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-a\n+b\n@@ ... @@\n context alone\n@@\n+c\n--- y.py\n+++ y.py\n@@\n-1\n+2\n```\n';
    expect(readEdits(answer, 'udiff')).toEqual({
      problem: null,
      edits: [
        { path: 'x.py', edit: { kind: 'hunk', lines: '-a\n+b\n' } },
        { path: 'x.py', edit: { kind: 'hunk', lines: '+c\n' } },
        { path: 'y.py', edit: { kind: 'hunk', lines: '-1\n+2\n' } },
      ],
    });
    expect(readEdits('```diff\n-a\n+b\n```', 'udiff').problem).toContain('does not begin with');
    expect(readEdits('```diff\n--- a\n+++ /dev/null\n-a\n```', 'udiff').problem).toContain('would remove the file');
  });

  it('has whole files, and shell blocks that are none', () => {
    expect(readEdits('x.py\n```python\na\n```\n\nRun this:\n```bash\nls\n```\nx.py\n```\nb\n```', 'whole')).toEqual({
      ...{ problem: null, edits: [{ path: 'x.py', edit: { kind: 'whole', text: 'b\n' } }] },
    });
    expect(readEdits('Here it is:\n```python\na\n```', 'whole').problem).toContain('has no name');
    expect(readEdits('x.py\n```python\na\n', 'whole').problem).toContain('behind its last line');
  });

  it('asks for files with lines of their own', () => {
    expect(readCommands('Look.\n/add a.py b.py\n/map\n```\n/add no.py\n```\n /add a.py')).toEqual({
      add: ['a.py', 'b.py'],
      map: true,
    });
  });
});

describe('what is hostile', () => {
  it('is read in time that grows with the text alone', () => {
    const many = 100_000;
    expect(readEdits('<<<<<<< SEARCH\n'.repeat(many), 'diff').problem).not.toBeNull();
    expect(readEdits('=======\n'.repeat(many), 'diff').edits).toEqual([]);
    expect(readEdits('a.py\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n'.repeat(20_000), 'diff').edits).toHaveLength(
      20_000,
    );
    expect(readEdits(`${'#*` '.repeat(many)}\n<<<<<<< SEARCH\n`, 'diff').problem).not.toBeNull();
    expect(readEdits(`\`\`\`diff\n${'--- a\n'.repeat(many)}`, 'udiff').problem).not.toBeNull();
    expect(readEdits('```\n'.repeat(many), 'whole').problem).not.toBeNull();
    expect(readCommands(`/add ${' '.repeat(many)}`).add).toEqual([]);
  });

  it('is placed with bounded work: lines that nearly match everywhere use it up', () => {
    const file = 'x\n'.repeat(200_000);
    const work = { left: 100_000 };
    const result = editText('a', file, { kind: 'block', search: `${'x\n'.repeat(50_000)}y\n`, replace: 'z\n' }, work);
    expect(text(result)).toContain('take too long to place');
    expect(work.left).toBeLessThanOrEqual(0);
    const next = editText('a', file, { kind: 'hunk', lines: `${' x\n'.repeat(20)}-y\n+z\n${' x\n'.repeat(20)}` }, work);
    expect(text(next)).toContain('take too long to place');
  });

  it('gets no nearest lines that cost more than both texts', () => {
    expect(nearestLines(['a b c'], [])).toBeNull();
    expect(nearestLines(Array(100_000).fill('a a a a'), Array(50_000).fill('b'))).toBeNull();
    expect(nearestLines(['__proto__ constructor', 'x'], ['__proto__ constructor'])).toEqual([
      '__proto__ constructor',
      'x',
    ]);
  });
});

it('a splice is the smallest one, and halves no character', () => {
  for (const [a, b] of [
    ['', 'x'],
    ['abc', 'abc'],
    ['aaa', 'aa'],
    ['a\u{1f600}b', 'a\u{1f601}b'],
    ['\u{1f600}', '\u{10600}'],
    ['xyz', ''],
  ] as const) {
    const { from, to, text: put } = spliceBetween(a, b);
    expect(a.slice(0, from) + put + a.slice(to)).toBe(b);
    expect([a.slice(0, from), put, a.slice(to)].every((part) => part.isWellFormed())).toBe(true);
  }
});
