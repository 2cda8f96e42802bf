# Replays a recording with the agent of the release. Needs no GPU.
#
#   tools/release.sh image
#   docker build -f docker/demo.Dockerfile -t cuspan-demo .
FROM debian:12-slim AS demo
ARG TARGETARCH=amd64
COPY build/release/image-${TARGETARCH}/opt/ /opt/
COPY examples/recordings/ /opt/cuspan/recordings/
ENV PATH=/opt/cuspan/bin:$PATH
USER 65534
ENTRYPOINT ["cuspan"]
CMD ["replay", "/opt/cuspan/recordings/vector_add.cuspanrec"]
