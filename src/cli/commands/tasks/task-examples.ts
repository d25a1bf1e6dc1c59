/** What a line does, and the line. */
export type Example = readonly [does: string, line: string];

/** Examples of commands on tasks and datasets. */
export const TASK_EXAMPLES: { readonly [command: string]: readonly Example[] } = {
  'task new': [
    ['Write a task that works', 'holdfast task new sort-lines'],
    ['Begin with one that ships', 'holdfast task new my-words --from count-words'],
  ],
  'task check': [
    ['Check a folder', 'holdfast task check sort-lines'],
    ['Check a definition, for a program', 'holdfast task check sort-lines/task.yaml --json'],
  ],
  'task validate': [
    ['Validate a folder', 'holdfast task validate sort-lines'],
    ['Find flaky tests of a benchmark', 'holdfast task validate humaneval/*.yaml --repeat 5 --at-once 8'],
  ],
  'task duplicates': [
    ['Compare the tasks of a benchmark', 'holdfast task duplicates humaneval/*.yaml'],
    ['Find them in tasks to train on', 'holdfast task duplicates humaneval/*.yaml --against own/*.yaml --least 0.5'],
  ],
  'task import': [
    ['Import a task of Harbor', 'holdfast task import hello-world --out hello-world.yaml'],
    ['Import a benchmark', 'holdfast task import HumanEval.jsonl.gz --out humaneval'],
    ['Use an image that is there', 'holdfast task import hello-world --image python:3.13-slim --out hello-world.yaml'],
  ],
  'task export': [
    ['Export one variant of a task', 'holdfast task export count-words --harbor count-words-harbor --seed 7'],
    ['Export it with the default seed', 'holdfast task export sort-lines --harbor sort-lines-harbor'],
  ],
  'task submit': [
    ['Submit a task', 'holdfast task submit sort-lines --agent coder --seed 7'],
    ['Submit a definition that the server knows', 'holdfast task submit sort-lines@1.0.0 --agent coder'],
    ['Submit each line of a file', 'holdfast task submit --batch tasks.jsonl'],
    ['Submit each task of a dataset', 'holdfast task submit --dataset sorting@1.0.0 --agent coder'],
  ],
  'task run': [
    ['Submit a task, and wait for its reward', 'holdfast task run count-words --agent coder'],
    ['Repeat one variant', 'holdfast task run count-words --agent coder --seed 7 --json'],
  ],
  'task list': [
    ['List failures of one kind', 'holdfast task list --result failure --category debugging'],
    ['List what is not attempted again', 'holdfast task list --dead'],
  ],
  'task show': [
    ['Show a task', 'holdfast task show task_0123456789abcdef0123456789abcdef'],
    ['Show it as JSON', 'holdfast task show task_0123456789abcdef0123456789abcdef --json'],
  ],
  'task cancel': [
    ['Cancel a task with its run', 'holdfast task cancel task_0123456789abcdef0123456789abcdef'],
    ['Print what is left of it as JSON', 'holdfast task cancel task_0123456789abcdef0123456789abcdef --json'],
  ],
  'task requeue': [
    ['Give a dead task new attempts', 'holdfast task requeue task_0123456789abcdef0123456789abcdef'],
    ['Print it as JSON', 'holdfast task requeue task_0123456789abcdef0123456789abcdef --json'],
  ],
  'task rates': [
    ['Compare agents on a dataset', 'holdfast task rates --dataset sorting@1.0.0'],
    ['Rate one agent by other numbers of attempts', 'holdfast task rates --agent coder --k 1,2,4,8'],
  ],
  'task register': [
    ['Register a folder', 'holdfast task register sort-lines'],
    ['Register two that ship', 'holdfast task register count-words calculator'],
  ],
  'task definitions': [
    ['List the versions of a task', 'holdfast task definitions --name sort-lines'],
    ['List what is deprecated', 'holdfast task definitions --deprecated'],
  ],
  'task read': [
    ['Print a definition', 'holdfast task read sort-lines@1.0.0'],
    ['Print it as JSON', 'holdfast task read sort-lines@1.0.0 --json'],
  ],
  'task diff': [
    ['Compare two versions', 'holdfast task diff sort-lines@1.0.0 1.1.0'],
    ['Compare them, for a program', 'holdfast task diff sort-lines@1.0.0 1.1.0 --json'],
  ],
  'task deprecate': [
    ['Deprecate a version', "holdfast task deprecate sort-lines@1.0.0 --reason 'Its tests accept an empty file.'"],
    ['Take that back', 'holdfast task deprecate sort-lines@1.0.0 --undo'],
  ],
  'dataset create': [
    ['Make a dataset of folders', 'holdfast dataset create sorting@1.0.0 sort-lines sort-words'],
    ['Make one of registered tasks', 'holdfast dataset create sorting@1.1.0 sort-lines@1.0.0 sort-words@2.0.0'],
  ],
  'dataset list': [
    ['List datasets', 'holdfast dataset list'],
    ['List the versions of one', 'holdfast dataset list --name sorting'],
  ],
  'dataset show': [
    ['Show a dataset', 'holdfast dataset show sorting@1.0.0'],
    ['Show it as JSON', 'holdfast dataset show sorting@1.0.0 --json'],
  ],
  'dataset duplicates': [
    ['Compare the tasks of a dataset', 'holdfast dataset duplicates sorting@1.0.0'],
    ['Compare two datasets', 'holdfast dataset duplicates sorting@1.0.0 humaneval@1.0.0'],
  ],
  batches: [
    ['List batches', 'holdfast batches'],
    ['Show one of them', 'holdfast batches monday'],
    ['Compare the tasks of it by name', 'holdfast batches monday --by name'],
    ['Cancel what of it is open', "holdfast batches monday --cancel -m 'The image is wrong.'"],
  ],
};
