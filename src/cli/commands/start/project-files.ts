import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { shippedProject } from '../../help.js';

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

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

function manifestOf({ name, language, versions }: ProjectChoice): string {
  const of = (...names: string[]) => Object.fromEntries(names.map((one) => [one, versions[one] ?? 'latest']));
  return json({
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
      ? [{ path: 'tsconfig.json', about: 'settings of the compiler', text: json(TSCONFIG), ...shared }]
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
