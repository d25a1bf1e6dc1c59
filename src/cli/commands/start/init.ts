import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { z } from 'zod';
import { environmentVariable } from '../../../config.js';
import { codeOrText, HoldfastError } from '../../../core/errors/errors.js';
import { jsonOrNull } from '../../../core/json.js';
import { packageVersions, shippedProject } from '../../help.js';
import { CONFIG_FILES } from '../../load-config.js';
import { json, jsonOption } from '../../options.js';
import { plain, print, printJson } from '../../print.js';

const MANAGERS = ['npm', 'pnpm', 'yarn'] as const;
type Manager = (typeof MANAGERS)[number];

const RUNS: { readonly [M in Manager]: { readonly install: string; readonly exec: string; readonly add: string } } = {
  npm: { install: 'npm install', exec: 'npx holdfast', add: 'npm install' },
  pnpm: { install: 'pnpm install', exec: 'pnpm exec holdfast', add: 'pnpm add' },
  yarn: { install: 'yarn install', exec: 'yarn holdfast', add: 'yarn add' },
};

const MANIFEST = 'package.json';

const options = z.object({ json, js: z.boolean().default(false), packageManager: z.enum(MANAGERS).optional() });

export const initCommand = (): Command =>
  new Command('init')
    .argument('[folder]', 'folder of the project, which is made when it is missing; without one: this folder')
    .option('--js', 'JavaScript instead of TypeScript')
    .addOption(
      new Option(
        '--package-manager <name>',
        'for the commands that are printed; default: the one that runs this',
      ).choices(MANAGERS),
    )
    .addOption(jsonOption())
    .action((folder: string | undefined, raw: unknown) => {
      const asked = options.parse(raw);
      const root = resolve(folder ?? '.');
      const manager = asked.packageManager ?? callingManager();
      const name = packageName(basename(root));
      const files = projectFiles({ name, manager, language: asked.js ? 'js' : 'ts', versions: packageVersions() });
      const kept = files.filter(({ path, isShared }) => isShared && existsSync(join(root, path)));
      const made = files.filter((file) => !kept.includes(file));
      assertFree(root, made);
      writeAll(root, made);
      const isNew = made.some(({ path }) => path === MANIFEST);
      const next = nextSteps(root, manager, isNew ? null : missingIn(join(root, MANIFEST)));
      if (asked.json)
        return printJson({
          folder: root,
          made: made.map(({ path }) => path),
          kept: kept.map(({ path }) => path),
          next,
        });
      report(root, made, kept, next);
    });

/** The package manager that started this process, as they all say it: `pnpm/9.1.0 npm/? node/v22.0.0`. */
function callingManager(): Manager {
  const agent = environmentVariable('npm_config_user_agent') ?? '';
  return MANAGERS.find((one) => agent.startsWith(`${one}/`)) ?? 'npm';
}

const packageName = (folder: string): string =>
  folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '') || 'agents';

/** Throws `invalid_request` where a file is there already: nothing is written over, and nothing is half done. */
function assertFree(root: string, files: readonly ProjectFile[]): void {
  const names = new Set([...CONFIG_FILES, ...files.map(({ path }) => path)]);
  const there = [...names].filter((name) => existsSync(join(root, name)));
  if (there.length === 0) return;
  throw new HoldfastError('invalid_request', `${root} has ${there.join(', ')} already, and nothing was written.`, {
    hint: 'Name another folder, as in `holdfast init my-agents`, or move these files away.',
  });
}

/** Throws `invalid_request` where the folder cannot be made or written in. */
function writeAll(root: string, files: readonly ProjectFile[]): void {
  try {
    mkdirSync(root, { recursive: true });
    // `wx`: a file that another process has just made is not written over.
    for (const { path, text } of files) writeFileSync(join(root, path), text, { flag: 'wx' });
  } catch (cause) {
    const why = codeOrText(cause);
    throw new HoldfastError('invalid_request', `The project cannot be written in ${root} (${why}).`, {
      cause,
      hint: 'Name a folder that this user may write, or one that is not there yet.',
    });
  }
}

interface Next {
  readonly here: readonly string[];
  readonly secondTerminal: readonly string[];
}

const NEEDED = ['holdfast', '@openai/agents', 'zod'];
const dependencies = z.record(z.string(), z.unknown()).catch({});
const manifest = z
  .object({ dependencies, devDependencies: dependencies })
  .catch({ dependencies: {}, devDependencies: {} });

/** Packages that a project lacks which has a `package.json` of its own. */
function missingIn(file: string): readonly string[] {
  const read = manifest.parse(jsonOrNull(readFileSync(file, 'utf8')));
  const there = { ...read.dependencies, ...read.devDependencies };
  return NEEDED.filter((name) => !Object.hasOwn(there, name));
}

/** `missing`: what is to be added to the packages of a project; null: it is new. */
function nextSteps(root: string, manager: Manager, missing: readonly string[] | null): Next {
  const { install, exec, add } = RUNS[manager];
  const folder = relative('.', root);
  return {
    here: [
      ...(folder === '' ? [] : [`cd ${folder.includes(' ') ? JSON.stringify(folder) : folder}`]),
      ...(missing === null ? [install] : missing.length === 0 ? [] : [`${add} ${missing.join(' ')}`]),
      `${exec} serve`,
    ],
    secondTerminal: [
      `${exec} run cashier 'Refund order 1042: it arrived broken. It cost 80 EUR.' --wait`,
      `${exec} inbox`,
    ],
  };
}

function report(root: string, made: readonly ProjectFile[], kept: readonly ProjectFile[], next: Next): void {
  print(`Written in ${plain(root)}:`);
  for (const { path, about } of made) print(`  ${path.padEnd(20)} ${about}`);
  for (const { path } of kept) print(`  ${path.padEnd(20)} was there, and stays as it is`);
  print('Next:');
  for (const line of next.here) print(`  ${line}`);
  print('Then, in a second terminal, in the same folder:');
  for (const line of next.secondTerminal) print(`  ${line}`);
}

/** What a new project is made for. */
export interface ProjectChoice {
  /** Name of the package. */
  readonly name: string;
  readonly language: 'ts' | 'js';
  readonly manager: string;
  /** Version ranges by the name of the package; `holdfast` is among them. */
  readonly versions: { readonly [packageName: string]: string };
}

export interface ProjectFile {
  readonly path: string;
  readonly about: string;
  readonly text: string;
  /** One that is there already stays as it is. */
  readonly isShared: boolean;
}

/** One text is TypeScript and JavaScript alike. */
const textOf = (name: string): string => readFileSync(join(shippedProject(), `${name}.txt`), 'utf8');

const IGNORED = `node_modules/
.holdfast/
.env
`;

const TSCONFIG = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: ['node'],
  },
  include: ['*.ts'],
};

const jsonFile = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

function manifestOf({ name, language, versions }: ProjectChoice): string {
  const of = (...names: string[]) => Object.fromEntries(names.map((one) => [one, versions[one] ?? 'latest']));
  return jsonFile({
    ...{ name, version: '0.1.0', private: true, type: 'module' },
    scripts: {
      start: 'holdfast serve',
      dev: 'holdfast dev',
      test: 'vitest run',
      ...(language === 'ts' ? { types: 'tsc' } : {}),
    },
    dependencies: of('@openai/agents', 'holdfast', 'zod'),
    devDependencies: language === 'ts' ? of('@types/node', 'typescript', 'vitest') : of('vitest'),
  });
}

/** The files of a new project: an agent with a scripted model, its tool, a test, and what a package manager needs. */
export function projectFiles(choice: ProjectChoice): readonly ProjectFile[] {
  const { language, manager } = choice;
  const own = { isShared: false };
  const shared = { isShared: true };
  return [
    {
      path: `holdfast.config.${language}`,
      about: 'an agent, with a model that needs no key',
      text: textOf('holdfast.config'),
      ...own,
    },
    { path: `refund.${language}`, about: 'its tool, which asks before a large refund', text: textOf('refund'), ...own },
    { path: `refund.test.${language}`, about: 'a test of both', text: textOf('refund.test'), ...own },
    { path: 'package.json', about: 'dependencies and scripts', text: manifestOf(choice), ...shared },
    ...(language === 'ts'
      ? [{ path: 'tsconfig.json', about: 'settings of the compiler', text: jsonFile(TSCONFIG), ...shared }]
      : []),
    ...(manager === 'yarn'
      ? [
          {
            path: '.yarnrc.yml',
            about: 'a folder of packages, which later versions of yarn make',
            text: 'nodeLinker: node-modules\n',
            ...shared,
          },
        ]
      : []),
    { path: '.gitignore', about: 'leaves dependencies, data and keys out', text: IGNORED, ...shared },
  ];
}
