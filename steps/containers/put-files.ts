import { posix } from 'node:path';
import { bytesOf, type TaskFiles } from '../../src/core/tasks/task-file.js';
import type { ToolEnvironment } from '../../src/core/tools/tool-environment.js';

const MODE = '644';

/** Writes files below a directory, with their modes; what is there is replaced. */
export async function putFiles(environment: ToolEnvironment, directory: string, files: TaskFiles): Promise<void> {
  const directories = directoriesOf(directory, files);
  if (directories.length > 0) await environment.run(['mkdir', '-p', '--', ...directories]);
  await placeFiles(environment, directory, files);
}

/** The directories that files below a directory are in. */
export const directoriesOf = (directory: string, files: TaskFiles): readonly string[] => [
  ...new Set(Object.keys(files).map((path) => posix.dirname(posix.join(directory, path)))),
];

/** The same where their directories are there. */
export async function placeFiles(environment: ToolEnvironment, directory: string, files: TaskFiles): Promise<void> {
  const placed = Object.entries(files).map(([path, file]) => ({ path: posix.join(directory, path), file }));
  for (const { path, file } of placed) await environment.write(path, bytesOf(file));
  const modes = [...new Set(placed.map(({ file }) => file.mode))].filter((mode) => mode !== MODE);
  for (const mode of modes) {
    const paths = placed.filter(({ file }) => file.mode === mode).map(({ path }) => path);
    await environment.run(['chmod', mode, '--', ...paths]);
  }
}
