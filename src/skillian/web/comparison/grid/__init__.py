"""All groups or rows of a comparison as a grid."""
