// Bundles the extension into one file. Options: --production (minified, no source map), --watch.
import { build, context } from "esbuild";

const production = process.argv.includes("--production");
const options = {
  entryPoints: ["src/main.ts"],
  outfile: "out/main.js",
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode"],
  minify: production,
  sourcemap: !production,
  logLevel: "warning",
};

if (process.argv.includes("--watch")) {
  const watching = await context(options);
  await watching.watch();
} else {
  await build(options);
}
