import type {
  Environment,
  EnvironmentEngine,
  EnvironmentIdentity,
  LabelledEnvironment,
  OpenOptions,
} from '../core/environment.js';
import { environmentName } from '../core/environment.js';
import { unenforceable } from '../core/environment-spec.js';
import { HoldfastError } from '../core/errors.js';
import { readFile, writeFile } from './container-files.js';
import { LABELS } from './container-options.js';
import { EngineConnection, EngineRefusal, isRefusal } from './engine-connection.js';
import { inspect } from './open-container.js';
import { readyContainer, VerifiedStarts } from './ready-container.js';
import { runCommand } from './run-command.js';

/** Two seconds after its first signal the main process gets its second one. */
const STOP_SECONDS = 2;

/** Environments as containers of an engine that speaks Docker's API. */
export class DockerEngine implements EnvironmentEngine {
  readonly #engine: EngineConnection;
  readonly #verified = new VerifiedStarts();
  #id: string | null = null;

  constructor(host: string, options: { readonly patienceMs: number }) {
    this.#engine = new EngineConnection(host, options.patienceMs);
  }

  async id(signal: AbortSignal): Promise<string> {
    this.#id ??= String((await this.#engine.ask('asking for its name', signal, (docker) => docker.info())).ID);
    return this.#id;
  }

  async open(identity: EnvironmentIdentity, options: OpenOptions): Promise<Environment> {
    const never = unenforceable(identity.spec);
    if (never.length > 0 && !identity.spec.bestEffort)
      throw new HoldfastError('environment_unenforceable', `It cannot be enforced: ${never.join('; ')}.`);
    const engine = this.#engine;
    const open = (begun: boolean, signal: AbortSignal): Promise<string> =>
      readyContainer(engine, identity, { ...options, begun, signal }, this.#verified);
    const container = await open(options.begun, options.signal);
    const place = (signal: AbortSignal) => ({
      ...{ engine, container, signal },
      reopen: () => open(true, signal),
      kill: () => this.#kill(container, signal),
    });
    return {
      run: (command, signal) => runCommand(place(signal), command),
      read: (path, maxBytes, signal) => readFile(place(signal), path, maxBytes),
      write: (path, bytes, signal) => writeFile(place(signal), path, bytes),
    };
  }

  async stop(identity: EnvironmentIdentity, signal: AbortSignal): Promise<void> {
    const name = environmentName(identity);
    for (let tries = 0; tries < 3; tries++) {
      const found = await inspect(this.#engine, name, signal);
      if (found === null || !found.State.Running) return;
      try {
        await this.#engine.ask('stopping the container', signal, async (docker) => {
          const container = docker.getContainer(found.Id);
          // A frozen process hears no signal.
          if (found.State.Paused) await container.unpause();
          await container.stop({ t: STOP_SECONDS });
        });
      } catch (error) {
        // It has stopped (304), was thawed by somebody else (409, 500) or is gone (404): looking again says which.
        if (!(error instanceof EngineRefusal)) throw error;
      }
    }
  }

  async remove(
    identity: Pick<EnvironmentIdentity, 'instance' | 'runId' | 'attempt'>,
    signal: AbortSignal,
  ): Promise<void> {
    const filters = { label: labelFilter(identity) };
    const containers = await this.#engine.ask('looking for containers', signal, (docker) =>
      docker.listContainers({ all: true, filters }),
    );
    for (const { Id } of containers) {
      await this.#gone('removing a container', signal, () =>
        this.#engine.docker.getContainer(Id).remove({ force: true, v: true }),
      );
    }
    const { Volumes } = await this.#engine.ask('looking for volumes', signal, (docker) =>
      docker.listVolumes({ filters }),
    );
    for (const { Name } of Volumes ?? [])
      await this.#gone('removing a volume', signal, () => this.#engine.docker.getVolume(Name).remove());
  }

  async list(instance: string, signal: AbortSignal): Promise<readonly LabelledEnvironment[]> {
    const filters = { label: [`${LABELS.managed}=1`, `${LABELS.instance}=${instance}`] };
    const containers = await this.#engine.ask('looking for containers', signal, (docker) =>
      docker.listContainers({ all: true, filters }),
    );
    const { Volumes } = await this.#engine.ask('looking for volumes', signal, (docker) =>
      docker.listVolumes({ filters }),
    );
    const labels = [...containers.map(({ Labels }) => Labels), ...(Volumes ?? []).map(({ Labels }) => Labels)];
    const found = labels.map((one) => labelled(one ?? {})).filter((one) => one !== null);
    return [...new Map(found.map((one) => [one.name, one])).values()];
  }

  async #kill(container: string, signal: AbortSignal): Promise<void> {
    await this.#gone('ending the container', signal, () => this.#engine.docker.getContainer(container).kill());
  }

  /** Does what may have been done already: what is not there, or on its way out, is fine. */
  async #gone(what: string, signal: AbortSignal, request: () => Promise<unknown>): Promise<void> {
    try {
      await this.#engine.ask(what, signal, request);
    } catch (error) {
      if (!isRefusal(error, 404, 409)) throw error;
    }
  }
}

const labelFilter = ({ instance, runId, attempt }: Pick<EnvironmentIdentity, 'instance' | 'runId' | 'attempt'>) => [
  `${LABELS.instance}=${instance}`,
  `${LABELS.run}=${runId}`,
  `${LABELS.attempt}=${attempt}`,
];

function labelled(labels: { readonly [name: string]: string }): LabelledEnvironment | null {
  const [instance, runId, attempt, deadline] = [LABELS.instance, LABELS.run, LABELS.attempt, LABELS.deadline].map(
    (name) => labels[name],
  );
  if (instance === undefined || runId === undefined || deadline === undefined || !/^\d+$/.test(attempt ?? ''))
    return null;
  const found = { instance, runId, attempt: Number(attempt), deadline };
  return { ...found, name: environmentName(found) };
}
