/**
 * A short sound, made here: nothing is loaded for it.
 */

/** Hertz, one after the other. */
const NOTES = [660, 880];
/** Of one note (s). */
const LENGTH = 0.12;
const LOUDNESS = 0.08;

export async function chime(): Promise<void> {
  const audio = new AudioContext();
  try {
    // Where nobody has touched the page yet the browser keeps it silent.
    await audio.resume();
    const begin = audio.currentTime;
    for (const [at, frequency] of NOTES.entries()) {
      const note = new OscillatorNode(audio, { frequency });
      const loudness = new GainNode(audio, { gain: 0 });
      const from = begin + at * LENGTH;
      loudness.gain.setValueAtTime(LOUDNESS, from);
      loudness.gain.exponentialRampToValueAtTime(0.0001, from + LENGTH);
      note.connect(loudness).connect(audio.destination);
      note.start(from);
      note.stop(from + LENGTH);
    }
    await new Promise((resolve) => setTimeout(resolve, 1000 * LENGTH * (NOTES.length + 1)));
  } finally {
    await audio.close();
  }
}
