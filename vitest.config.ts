import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/global-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Test files start real servers and databases; more at once starve each other on small machines.
    maxWorkers: 3,
    // Tests that kill processes depend on the machine's mood; a real defect fails twice.
    retry: process.env.CI ? 1 : 0,
  },
});
