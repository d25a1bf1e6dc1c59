import type { EditFormat } from './read-edits.js';

/** What the model reads of the formats. The formats are those of aider (https://aider.chat/docs/more/edit-formats.html); the words are our own. */

const FORMS: { readonly [format in EditFormat]: string } = {
  diff: `Write each edit as a block: the name of the file alone in a line, and then, between fences, the lines as they stand and the lines as they are to be.

src/greet.py
\`\`\`python
<<<<<<< SEARCH
def greet():
    print("hi")
=======
def greet(name):
    print(f"hi {name}")
>>>>>>> REPLACE
\`\`\`

The lines under SEARCH are copied from the file, with every space and comment. A block changes the first place where they stand. Keep blocks short, with a few lines around what changes. Write several blocks for several places. To make a file, or to put lines at the end of one, leave the lines under SEARCH away.`,
  udiff: `Write edits as unified diffs, as "diff -U0" would with some context around each change:

\`\`\`diff
--- src/greet.py
+++ src/greet.py
@@ ... @@
-def greet():
-    print("hi")
+def greet(name):
+    print(f"hi {name}")
\`\`\`

Line numbers are not needed: a hunk is found by its lines, so these must stand in the file just once and as they are written. Begin a new hunk with "@@ ... @@" for each place. Replace whole functions rather than single characters. To make a file, begin with "--- /dev/null".`,
  whole: `Write each file that changes as a whole: its name alone in a line, and then all of its lines between fences, without leaving anything out.

src/greet.py
\`\`\`
def greet(name):
    print(f"hi {name}")
\`\`\``,
};

const SHORT: { readonly [format in EditFormat]: string } = {
  diff: 'Edits are SEARCH/REPLACE blocks. Each has the name of its file above it, and under SEARCH the very lines of the file.',
  udiff:
    'Edits are unified diffs in ```diff fences, with "---" and "+++" lines, and hunks that stand in the file just once.',
  whole: 'Edits are whole files between fences. Each has its name above it.',
};

export const systemText = (format: EditFormat, tested: boolean): string =>
  `You change the code of a repository as the user asks, in few words.

You see files of the chat alone. Ask for others with lines of their own, and then wait for them:

/map
/add src/greet.py tests/test_greet.py

/map shows what the files of the repository define. /add adds files to the chat, whole.

${FORMS[format]}

Names of files are relative to the root of the repository. All edits of an answer are made together, in their order, and committed. Then the files are checked${tested ? ', and the tests run' : ''}. You read what failed, and answer with what mends it. You cannot run commands.

An answer without edits, /map and /add is your last one.`;

export const reminderText = (format: EditFormat): string =>
  `${SHORT[format]} Add a file to the chat before you edit it. Lines with /map or /add ask for files.`;

export const problemText = (problem: string, format: EditFormat): string =>
  `The answer cannot be read, and nothing of it was done. ${problem}. ${SHORT[format]}`;
