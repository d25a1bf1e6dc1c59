import { z } from 'zod';
import { shownOutput } from '../container/bash.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { SESSION_DIR } from './shell-session.js';

/**
 * Cells of Python that share their names. No process is kept: a cell begins with the imports and definitions of the cells before, executed
 * again, and with the values that could be pickled. So the names outlive the worker, and a container that was stopped.
 */

const MOST_SECONDS = 1500;
/** More is not kept, and not read either. */
const STATE_BYTES = 64 * 1024 * 1024;

const CELL = `
import ast, os, pickle, subprocess, sys, traceback, types
place, most, source = sys.argv[1], int(sys.argv[2]), sys.argv[3]
# Cells have a module of their own, so that none of their names is one of these here.
program = sys.modules["__main__"]
sys.modules["__main__"] = types.ModuleType("__main__")
names = sys.modules["__main__"].__dict__
sys.argv = [""]
sys.path.insert(0, "")
path = os.path.join(place, "python")
definitions = []

def shell(line):
    sys.stdout.flush()
    subprocess.run(line, shell=True, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)

def plain(line):
    if line.startswith("%pip "):
        return "__hf_shell(%r)" % (sys.executable + " -m " + line[1:])
    return "__hf_shell(%r)" % line[1:] if line.startswith("!") else line

def is_definition(node):
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)):
        return True
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda)

def load():
    try:
        with open(path, "rb") as file:
            kept = pickle.load(file)
        for text in kept["definitions"]:
            try:
                exec(compile(text, "<cell>", "exec"), names)
                definitions.append(text)
            except BaseException as error:
                print("(A definition of an earlier cell failed: %s)" % error)
        for name, value in pickle.loads(kept["values"]).items():
            names[name] = value
    except FileNotFoundError:
        pass
    except BaseException as error:
        print("(The names of earlier cells are lost: %s)" % error)

def save(defined):
    definitions.extend(text for text in defined if text not in definitions)
    skipped = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)
    values = {name: value for name, value in names.items()
              if not name.startswith("__") and not isinstance(value, skipped)}
    lost = []
    try:
        data = pickle.dumps(values)
    except BaseException:
        for name in list(values):
            try:
                pickle.dumps(values[name])
            except BaseException:
                lost.append(name)
                del values[name]
        data = pickle.dumps(values)
    text = pickle.dumps({"definitions": definitions, "values": data})
    if len(text) > most:
        print("(The values of the cells are larger than %d bytes and do not stay.)" % most)
        return
    os.makedirs(place, mode=0o700, exist_ok=True)
    with open(path + ".new", "wb") as file:
        file.write(text)
    os.rename(path + ".new", path)
    if lost:
        print("(Not kept for the next cell: %s)" % ", ".join(sorted(lost)[:20]))

def run():
    defined = []
    failed = False
    try:
        tree = ast.parse("\\n".join(plain(line) for line in source.split("\\n")), "<cell>")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        for node in tree.body:
            exec(compile(ast.Module([node], []), "<cell>", "exec"), names)
            if is_definition(node):
                defined.append(ast.unparse(node))
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
            if value is not None:
                names["_"] = value
                print(repr(value))
    except SystemExit as error:
        failed = error.code not in (None, 0)
    except BaseException:
        failed = True
        kind, error, trace = sys.exc_info()
        while trace is not None and trace.tb_frame.f_code.co_filename != "<cell>":
            trace = trace.tb_next
        traceback.print_exception(kind, error, trace)
    sys.stderr.flush()
    save(defined)
    sys.exit(1 if failed else 0)

names["__hf_shell"] = shell
load()
run()
`;

const NO_PYTHON = 'command -v python3 >/dev/null || exit 127; exec 2>&1; exec python3 -u -c "$@"';

const output = z.strictObject({ output: z.string(), failed: z.boolean(), note: z.string().optional() });

export const pythonTool = (timeoutSeconds: number, maxOutputBytes: number): DeclaredTool =>
  defineTool({
    untrusted: 'container',
    name: 'execute_ipython_cell',
    description:
      'Executes a cell of Python. Imports, definitions and values that can be pickled stay for the next cell; the value of a last expression is shown. Lines that begin with %pip or ! are commands. The shell session does not see these names.',
    input: z.strictObject({
      code: z.string().min(1).max(65_536),
      timeout: z
        .number()
        .min(1)
        .max(MOST_SECONDS)
        .optional()
        .describe(`Seconds after which it is ended. ${timeoutSeconds} without it.`),
    }),
    output,
    capabilities: ['container:exec:shell'],
    effect: 'unsafe',
    onUnknownEffect: 'rerun',
    timeoutMs: 3_600_000,
    maxOutputBytes: maxOutputBytes * 12 + 4096,
    execute: async ({ code, timeout: asked }, { environment }) => {
      const seconds = asked ?? timeoutSeconds;
      const argv = ['sh', '-c', NO_PYTHON, 'sh', CELL, SESSION_DIR, String(STATE_BYTES), code];
      const ended = await environment.run(argv, { timeoutSeconds: seconds, maxOutputBytes });
      if (ended.exitCode === 127) return { output: '', failed: true, note: 'The image has no python3.' };
      const notes = [
        ...(ended.timedOut ? [`It was ended after ${seconds} seconds, and nothing of it stays.`] : []),
        ...(ended.outOfMemory ? ['The container ran out of memory, and a process was ended.'] : []),
        ...(ended.stdout.omittedBytes > 0
          ? [`${ended.stdout.omittedBytes} more bytes of the output are left out.`]
          : []),
      ];
      return {
        ...{ output: shownOutput(ended.stdout), failed: ended.exitCode !== 0 },
        ...(notes.length === 0 ? {} : { note: notes.join(' ') }),
      };
    },
  });
