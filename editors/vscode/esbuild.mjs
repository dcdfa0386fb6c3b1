// Bundles the extension into one file, and the page of its chat into another. Options: --production (minified, no source map), --watch.
import { build, context } from "esbuild";

const production = process.argv.includes("--production");
const common = { bundle: true, minify: production, sourcemap: !production, logLevel: "warning" };
const bundles = [
  { ...common, entryPoints: ["src/main.ts"], outfile: "out/main.js", platform: "node", format: "cjs", target: "node20", external: ["vscode"] },
  // The page of the chat; its style goes beside it.
  { ...common, entryPoints: ["webview/main.ts"], outfile: "out/webview.js", platform: "browser", format: "iife", target: "es2022" },
];

if (process.argv.includes("--watch")) {
  for (const options of bundles) {
    await (await context(options)).watch();
  }
} else {
  await Promise.all(bundles.map((options) => build(options)));
}
