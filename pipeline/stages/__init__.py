"""The pure stages of a story's path, one module each: no Kafka, no SQL, no clock, no I/O. Time is an argument."""
