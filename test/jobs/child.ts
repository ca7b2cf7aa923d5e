import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A process of its own that runs a TypeScript file and talks over IPC. */
export interface Child {
  readonly pid: number;
  /** The first message, already received or still to come, that `is` accepts. */
  message<T = unknown>(is?: (message: T) => boolean): Promise<T>;
  send(message: unknown): void;
  /** Resolves when the process is gone. */
  kill(signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  pause(): void;
  resume(): void;
  /** Resolves with the exit code. */
  readonly exited: Promise<number | null>;
}

/** Starts `file` (a URL of a `.ts` file); `input` is JSON in its environment variable `INPUT`. */
export function startChild(file: URL, input: unknown): Child {
  const child = fork(fileURLToPath(file), {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, INPUT: JSON.stringify(input) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const received: unknown[] = [];
  child.on('message', (message) => received.push(message));
  const exited = once(child, 'exit').then(([code]): number | null => code);
  return {
    pid: child.pid ?? 0,
    exited,
    async message<T>(is: (message: T) => boolean = () => true) {
      for (let next = 0; ; ) {
        for (; next < received.length; next++) {
          const message = received[next] as T;
          if (is(message)) return message;
        }
        const more = once(child, 'message').then(() => true);
        if (!(await Promise.race([more, exited.then(() => false)])))
          throw new Error('the process ended without that message');
      }
    },
    send: (message) => void child.send(message as object),
    async kill(signal = 'SIGKILL') {
      child.kill('SIGCONT');
      child.kill(signal);
      await exited;
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  };
}
