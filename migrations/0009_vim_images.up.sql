-- Software images of VNF packages in VIMs. One is shared by all VNF instances of a package in a VIM.
CREATE TABLE vim_images (
    id           uuid    PRIMARY KEY, -- Glance's, chosen here
    vim          text    NOT NULL,
    vnf_pkg_id   uuid    NOT NULL,
    digest       text    NOT NULL, -- of what the VNFD says of the image
    ready        boolean NOT NULL DEFAULT false,
    op_id        uuid    NOT NULL, -- the run that makes it, or has made it
    run          bigint  NOT NULL,
    condemned_by uuid -- the VNF instance for which it is to be removed from the VIM; nobody uses it any more
);
CREATE UNIQUE INDEX vim_images_current ON vim_images (vim, vnf_pkg_id, digest) WHERE condemned_by IS NULL;
CREATE INDEX vim_images_condemned ON vim_images (vim) WHERE condemned_by IS NOT NULL;

CREATE TABLE vim_image_users (
    image_id        uuid NOT NULL REFERENCES vim_images ON DELETE CASCADE,
    vnf_instance_id uuid NOT NULL REFERENCES vnf_instances,
    PRIMARY KEY (image_id, vnf_instance_id)
);
CREATE INDEX vim_image_users_instance ON vim_image_users (vnf_instance_id);
