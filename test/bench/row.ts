/** What one side gave in one round, by the name of the figure. */
export interface Values {
  readonly [figure: string]: { readonly value: number; readonly unit: Unit };
}

/** Of runs, steps, tasks and events per second more is better; of the others, less. */
export type Unit =
  | 'runs/s'
  | 'steps/s'
  | 'tasks/s'
  | 'events/s'
  | 'rows'
  | 'µs'
  | 'ms'
  | 's'
  | 'KB'
  | 'MB'
  | 'transactions/s';

export interface Row {
  readonly name: string;
  readonly title: string;
  readonly needsPostgres: boolean;
  /** A container engine, by DOCKER_HOST. */
  readonly needsDocker?: boolean;
  /** Packages that the project does not have; without them the row is left out. */
  readonly needsPackages?: readonly string[];
  /** The first is measured against the second, and against those that follow. */
  readonly sides: readonly string[];
  /** How often at most: some rows take long. */
  readonly roundsMax?: number;
  /** Not among those of --quick. */
  readonly notQuick?: boolean;
  /** Only where it is named: it takes minutes. */
  readonly onDemand?: boolean;
  measure(side: string, scale: Scale): Promise<Values>;
}

export type Scale = 'quick' | 'full';
