import { type ErrorRow, row } from './error-row.js';

/** Errors of containers, of the engine that they run on, and of what stands between them and models. */
export const ENVIRONMENT_ERRORS = {
  environment_missing: row(
    422,
    'stop',
    'The agent has no environment',
    'Give the agent an `environment`, or leave the tool out.',
  ),
  environment_unenforceable: row(
    422,
    'stop',
    'The engine cannot enforce what the environment asks for',
    'Set what is named to null, use an engine that can, or say `bestEffort: true`.',
  ),
  environment_failed: row(
    502,
    'stop',
    'The container cannot be used',
    'Read the detail, which has the word of the engine; docs/operate/docker.md lists what images need.',
  ),
  environment_lost: row(
    500,
    'stop',
    'The container of the run is gone',
    'Its files are gone with it; start the run again.',
  ),
  command_unknown: row(
    500,
    'stop',
    'The container stopped while a command was at work in it',
    'What it did is not known; start the run again. A task begins another run by itself, as often as its `retries` say.',
  ),
  agent_broke_environment: row(
    409,
    'stop',
    'What the agent left in its container cannot be judged',
    'Read the detail. The agent caused it, so the task counts as failed with reward 0; submit it again to try again.',
  ),
  environment_conflict: row(
    409,
    'stop',
    'A container of the same name is another one',
    'Remove the container that is named if nothing needs it, then start the run again.',
  ),
  environment_elsewhere: row(
    409,
    'stop',
    'The container of the run is on another engine',
    'Start a worker with the engine that is named, or start the run again.',
  ),
  engine_unreachable: row(
    503,
    'retry',
    'The container engine does not answer',
    'Start it, and check DOCKER_HOST; then try the run again.',
  ),
  image_unknown: row(
    422,
    'stop',
    'The engine has no such image',
    'Pull or build the image on the engine, or correct its name; `imagePolicy.pull` lets the engine pull it.',
  ),
  image_refused: row(
    422,
    'stop',
    'The image is of a registry that is not allowed',
    'Use an image of an allowed registry, or add the registry to `imagePolicy.registries` of the configuration.',
  ),
  build_failed: row(
    422,
    'stop',
    'The engine cannot build the image of a task',
    'Read the detail. `--build-network open` lets the build reach the network; `--image` names an image to use instead.',
  ),
  file_unreadable: row(422, 'stop', 'A file of the container cannot be read', 'Read the detail, which says why.'),
  file_unwritable: row(422, 'stop', 'A file of the container cannot be written', 'Read the detail, which says why.'),
  scaffold_failed: row(
    500,
    'stop',
    'The scaffold of the agent failed',
    'Read the detail; correct `initialize`, `step`, `history` or `terminal` of the scaffold, then start the run again.',
  ),
} as const satisfies Record<string, ErrorRow>;

/**
 * Of these a model could only be told what it cannot mend: a call that fails by one of them ends its run. A container that is dead
 * would otherwise be asked again and again.
 */
const ENDS_THE_RUN: ReadonlySet<string> = new Set<keyof typeof ENVIRONMENT_ERRORS | 'secret_unreadable'>([
  'secret_unreadable',
  'environment_missing',
  'environment_unenforceable',
  'environment_failed',
  'environment_lost',
  'command_unknown',
  'agent_broke_environment',
  'environment_conflict',
  'environment_elsewhere',
  'engine_unreachable',
  'image_unknown',
  'image_refused',
  'scaffold_failed',
]);

export const isEnvironmentTrouble = (code: string): boolean => ENDS_THE_RUN.has(code);
