// Phonemes speaks its standard input: phonemes VOICE [words] < text > samples 2> events. Samples have 16 bits, and one
// channel. The first line of the events is the sampling rate. Each further line is the time of a phoneme in
// milliseconds, and its IPA; or, with words, the time of a word, and the number of its first character in the text,
// from 1. The program espeak-ng does not tell these times. The declarations are those of espeak-ng/speak_lib.h.
#include <stdio.h>

typedef struct {
	int type;
	unsigned identifier;
	int position, length, milliseconds, sample;
	void *user;
	union { int number; const char *name; char ipa[8]; } id;
} event;

enum { TERMINATED, WORD, PHONEME = 7, RETRIEVAL = 1, EVENTS_AS_IPA = 3, RATE = 1, UTF8 = 1, PHONEMES = 0x100 };

int espeak_Initialize(int output, int buffer, const char *path, int options);
int espeak_SetVoiceByName(const char *name);
int espeak_SetParameter(int parameter, int value, int relative);
void espeak_SetSynthCallback(int (*callback)(short *, int, event *));
int espeak_Synth(const void *text, size_t size, unsigned position, int type, unsigned end, unsigned flags, unsigned *identifier, void *user);
int espeak_Synchronize(void);

static int words;

static int on_speech(short *samples, int n, event *e) {
	if (samples)
		fwrite(samples, sizeof *samples, n, stdout);
	for (; e->type != TERMINATED; e++)
		if (words && e->type == WORD)
			fprintf(stderr, "%d %d\n", e->milliseconds, e->position);
		else if (!words && e->type == PHONEME)
			fprintf(stderr, "%d %.8s\n", e->milliseconds, e->id.ipa);
	return 0;
}

int main(int argc, char **argv) {
	static char text[1 << 16];
	int rate = espeak_Initialize(RETRIEVAL, 0, NULL, EVENTS_AS_IPA);
	words = argc == 3;
	if (argc < 2 || rate <= 0 || espeak_SetVoiceByName(argv[1]))
		return 1;
	fprintf(stderr, "%d\n", rate);
	espeak_SetSynthCallback(on_speech);
	espeak_SetParameter(RATE, 160, 0);
	size_t n = fread(text, 1, sizeof text - 1, stdin);
	return espeak_Synth(text, n + 1, 0, 1, 0, UTF8 | PHONEMES, NULL, NULL) || espeak_Synchronize();
}
