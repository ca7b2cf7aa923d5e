import { lockDataDir } from '../../../../src/jobs/store/embedded/data-dir-lock.js';
import { socketDirectory } from '../../../../src/jobs/store/embedded/socket-directory.js';

/** Takes the lock of the directory in INPUT and keeps it; says `held`, or the error's code. */
const dataDir: string = JSON.parse(process.env.INPUT ?? '""');
try {
  await lockDataDir(dataDir, await socketDirectory(dataDir));
  process.send?.('held');
} catch (error) {
  process.send?.(error instanceof Error && 'code' in error ? error.code : String(error));
}
process.on('disconnect', () => process.exit(0));
