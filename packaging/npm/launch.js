#!/usr/bin/env node
// Starts the program that npm installed for this platform, with the same arguments, streams and signals, and ends as it ends.
// Nothing is downloaded here: the program lies in one of the optional dependencies.
'use strict';

const { spawn } = require('node:child_process');
const path = require('node:path');
const { name, optionalDependencies } = require('./package.json');

const offered = Object.keys(optionalDependencies);
const wanted = `${name}-${process.platform}-${process.arch}`;

function folderOf(packageName) {
  try {
    return path.dirname(require.resolve(`${packageName}/package.json`));
  } catch {
    return undefined;
  }
}

// Older package managers install both builds for Linux; the one for glibc does not start where the system has musl.
function hasGlibc() {
  process.report.excludeNetwork = true;
  return Boolean(process.report.getReport().header.glibcVersionRuntime);
}

function installedFolder() {
  const folder = folderOf(wanted);
  const musl = process.platform === 'linux' ? folderOf(`${wanted}-musl`) : undefined;
  return musl && !(folder && hasGlibc()) ? musl : folder;
}

function fail(what, wayOut) {
  process.stderr.write(`error: ${what}\nhint: ${wayOut}\n`);
  process.exit(3);
}

const folder = installedFolder();
if (!folder) {
  const fitting = offered.filter((other) => other === wanted || other === `${wanted}-musl`);
  if (fitting.length > 0) {
    fail(
      `the package with the program for this machine is not installed: ${fitting.join(' or ')}`,
      `npm leaves it out with --omit=optional, or with a lock file from another system; install ${name} again without them`,
    );
  }
  const platforms = offered.map((other) => other.slice(name.length + 1)).join(', ');
  fail(
    `there is no build of skills-mcp for ${process.platform}-${process.arch}, only for ${platforms}`,
    'build it with cargo in a clone of the repository: cargo install --locked --path crates/skills-mcp',
  );
}

const program = path.join(folder, process.platform === 'win32' ? 'skills-mcp.exe' : 'skills-mcp');
// The program calls itself what it was started as: `skills-mcp` or `sk`.
const argv0 = path.basename(process.argv[1], '.js') === 'sk' ? 'sk' : 'skills-mcp';
const child = spawn(program, process.argv.slice(2), { argv0, stdio: 'inherit', windowsHide: true });

child.on('error', (error) => fail(`${program} cannot be started: ${error.message}`, `install ${name} again`));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => child.kill(signal));
}
child.on('exit', (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exitCode = code;
  }
});
